// Login: exchanges the user's key for a cookie that scripts cannot read.

import { post } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";

class Login extends Part {
  build() {
    this.field = h("input", {
      type: "password",
      name: "key",
      id: "key",
      autocomplete: "current-password",
      required: true,
      "aria-describedby": "login-problem",
    });
    this.problem = h("p.problem", { id: "login-problem", role: "alert" });
    this.button = h("button.primary", { type: "submit" }, t("log_in"));
    this.append(
      h(
        "main",
        h(
          "form",
          { onsubmit: (event) => this.#logIn(event) },
          h("h1", "Segue"),
          h("label", { for: "key" }, t("api_key")),
          this.field,
          this.problem,
          this.button,
        ),
      ),
    );
    localStorage.removeItem("segue.last");
    document.title = "Segue";
    this.field.focus();
  }

  async #logIn(event) {
    event.preventDefault();
    this.button.disabled = true;
    this.problem.textContent = "";
    try {
      await post("auth/session", { key: this.field.value });
      localStorage.setItem("segue.logged-in", "yes");
      location.reload();
    } catch (problem) {
      this.problem.textContent = problem.status === 401 ? t("unknown_key") : problem.message;
      this.button.disabled = false;
      this.field.select();
    }
  }
}

customElements.define("segue-login", Login);

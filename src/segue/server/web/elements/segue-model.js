// The model that answers: connect one, test it, or go back to the offline rules. Only admins may change it.

import { account } from "../lib/account.js";
import { get, patch, post } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { toast } from "../lib/toast.js";

const OFFLINE = "offline";
/** Examples of names, to show their form. */
const NAMES = { openai: "gpt-5-mini", anthropic: "claude-sonnet-4-5", ollama: "qwen3", compatible: "my-model" };

class Model extends Part {
  async load() {
    if (!account.isAdmin) return this.#say(t("model_of", { name: nameOf(account.model) }), t("model_admin"));
    const { model, addresses, message } = await get("settings").catch((problem) => problem);
    if (!model) return this.#say(message);
    if (!model.editable) return this.#say(t("model_of", { name: nameOf(model.name) }), setElsewhere(model));
    Object.assign(this, { stored: model, addresses });
    this.replaceChildren(this.#form());
    this.#choose(model.provider ?? (account.model === OFFLINE ? "openai" : OFFLINE));
  }

  #say(...sentences) {
    this.replaceChildren(...sentences.map((sentence) => h("p", sentence)));
  }

  #form() {
    const { stored } = this;
    this.now = h("p", t("model_of", { name: nameOf(stored.name) }));
    const providers = [...Object.keys(NAMES), OFFLINE].map((name) => this.#provider(name));
    this.name = input("name", { value: stored.name ?? "", required: true, maxlength: "200" });
    this.key = input("key", { type: "password", autocomplete: "off", maxlength: "4096" });
    this.address = input("base_url", { value: stored.base_url ?? "", inputmode: "url", maxlength: "2000" });
    this.labels = {
      key: label("model_key", this.key),
      name: label("model_name", this.name),
      address: label("model_address", this.address),
    };
    this.result = h("p.result", { role: "status" });
    this.problem = h("p.problem", { role: "alert" });
    this.test = h("button", { onclick: () => this.#run(() => this.#test()) }, t("model_test"));
    this.anyway = h("button", { hidden: true, onclick: () => this.#run(() => this.#save()) }, t("model_anyway"));
    this.connect = h("button.primary", { type: "submit" });
    const onsubmit = (event) => {
      event.preventDefault();
      this.#run(() => this.#connect());
    };
    return h(
      "form",
      { onsubmit },
      this.now,
      h("div.choice", { role: "radiogroup", "aria-labelledby": "settings-model" }, providers),
      Object.values(this.labels),
      this.result,
      this.problem,
      h("div.choices", this.test, this.anyway, this.connect),
    );
  }

  #provider(name) {
    const onchange = () => this.#choose(name);
    const radio = h("input", { type: "radio", name: "provider", value: name, onchange });
    return h("label", radio, t(`provider_${name}`));
  }

  #choose(name) {
    this.chosen = name;
    this.querySelector(`input[value="${name}"]`).checked = true;
    const same = name === this.stored.provider;
    const offline = name === OFFLINE;
    this.labels.key.hidden = offline || name === "ollama";
    this.labels.name.hidden = this.labels.address.hidden = this.test.hidden = offline;
    this.name.required = !offline;
    this.address.required = name === "compatible";
    this.name.placeholder = t("for_example", { name: NAMES[name] ?? "" });
    this.address.placeholder = this.addresses[name] ?? "";
    this.key.placeholder = same && this.stored.key_stored ? t("key_stored") : "";
    this.connect.textContent = t(offline ? "model_disconnect" : "model_connect");
    this.#report("", "");
  }

  #report(result, problem) {
    this.result.textContent = result;
    this.problem.textContent = problem;
    this.anyway.hidden = !problem;
  }

  get #entered() {
    const model = { provider: this.chosen, name: this.name.value.trim() };
    if (this.address.value.trim()) model.base_url = this.address.value.trim();
    if (this.key.value.trim() && !this.labels.key.hidden) model.key = this.key.value.trim();
    return model;
  }

  /** Runs a step with the buttons disabled, and shows what the server refuses. */
  async #run(step) {
    if (!this.querySelector("form").reportValidity()) return;
    const buttons = [this.test, this.anyway, this.connect];
    for (const button of buttons) button.disabled = true;
    this.#report(t("model_testing"), "");
    try {
      await step();
    } catch (problem) {
      this.#report("", problem.message);
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  async #test() {
    const { duration_ms } = await post("settings/model/test", this.#entered);
    this.#report(t("model_works", { seconds: Math.round(duration_ms / 100) / 10 }), "");
  }

  async #connect() {
    if (this.chosen !== OFFLINE) await this.#test();
    await this.#save();
  }

  async #save() {
    const model = this.chosen === OFFLINE ? null : this.#entered;
    await patch("settings", { model });
    await account.load();
    toast(t("model_of", { name: nameOf(account.model) }));
    this.emit("segue-connected");
  }
}

const input = (name, attributes) =>
  h("input", { type: "text", name, autocomplete: "off", spellcheck: "false", ...attributes });
const label = (name, field) => h("label.field", h("span", t(name)), field);
const nameOf = (model) => (model && model !== OFFLINE ? model : t("offline_rules"));
const setElsewhere = ({ source }) =>
  source === "application" ? t("model_application") : t("model_set_by", { source });

customElements.define("segue-model", Model);

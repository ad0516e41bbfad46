// Notifications in the settings: on or off for this device.

import { h, Part, t } from "../lib/dom.js";
import { notifications } from "../lib/notifications.js";

class NotificationSettings extends Part {
  build() {
    this.text = h("p");
    this.problem = h("p.problem", { role: "alert" });
    this.button = h("button.primary", { onclick: () => this.#switch() });
    this.append(this.text, this.problem, this.button);
  }

  enter() {
    this.on(notifications, "change", () => this.#draw());
    this.#draw();
  }

  #draw() {
    const { state } = notifications;
    this.text.textContent = t(state === "off" ? "notifications_text" : `notifications_${state}`);
    this.button.hidden = state !== "on" && state !== "off";
    this.button.textContent = t(state === "on" ? "notifications_switch_off" : "notifications_switch_on");
  }

  async #switch() {
    this.button.disabled = true;
    this.problem.textContent = "";
    try {
      await (notifications.state === "on" ? notifications.disable() : notifications.enable());
    } catch (problem) {
      // The server's refusals are sentences; the browser's are not for people.
      this.problem.textContent = problem.status === undefined ? t("notifications_failed") : problem.message;
    } finally {
      this.button.disabled = false;
    }
  }
}

customElements.define("segue-notifications", NotificationSettings);

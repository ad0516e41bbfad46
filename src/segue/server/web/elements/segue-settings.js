// Settings dialog: model, time zone, quiet hours, language, appearance, notifications, account and keyboard shortcuts.

import { account } from "../lib/account.js";
import { inPath, patch } from "../lib/api.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { form } from "../lib/form.js";
import { changeTheme, theme, THEMES } from "../lib/theme.js";
import { zone } from "../lib/times.js";
import { toast } from "../lib/toast.js";
import { changeLanguage, language, LANGUAGES } from "../lib/words.js";
import "./segue-model.js";
import "./segue-notifications.js";
import "./segue-quiet.js";

const FIND_KEYS = /Mac|iP/.test(navigator.platform) ? ["⌘", "K"] : ["Ctrl", "K"];
/** Keys, and the name of what they do. */
const SHORTCUTS = [
  [["Enter"], "key_send"],
  [["Shift", "Enter"], "key_line"],
  [["Esc"], "key_stop"],
  [FIND_KEYS, "find"],
  [["n"], "new_chat"],
  [["j"], "key_next"],
  [["k"], "key_previous"],
  [["/"], "key_write"],
  [["f"], "search_messages"],
  [["?"], "key_help"],
];

class Settings extends Part {
  build() {
    this.model = h("segue-model");
    this.zone = h("div");
    this.quiet = h("segue-quiet");
    this.account = h("p");
    this.notifications = h("segue-notifications");
    this.dialog = h(
      "dialog.settings",
      { "aria-labelledby": "settings-title" },
      h(
        "header",
        h("h2", { id: "settings-title" }, t("settings")),
        h("button.icon-button", { named: t("close"), onclick: () => this.dialog.close() }, icon("close")),
      ),
      section("model", this.model),
      section("timezone", this.zone),
      section("quiet", this.quiet),
      section("language", languageSelect()),
      section("appearance", themeChoice()),
      section("notifications", this.notifications),
      section("account", this.account),
      section("keyboard", shortcutList()),
    );
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.append(this.dialog);
  }

  enter() {
    this.on(this, "segue-connected", () => this.dialog.close());
  }

  /** Opens the dialog at a section, or at its beginning. */
  ask({ chat, section: name = "model" }) {
    this.zone.replaceChildren(...zoneForm(chat));
    this.quiet.show(chat);
    const role = t(account.isAdmin ? "role_admin" : "role_user");
    this.account.textContent = t("account_text", { user: account.user, account: account.account, role });
    if (!this.dialog.open) this.dialog.showModal();
    this.model.load();
    const heading = this.dialog.querySelector(`#settings-${name}`);
    heading.focus();
    heading.scrollIntoView({ block: "start" });
  }
}

const section = (name, ...content) =>
  h(
    "section",
    { "aria-labelledby": `settings-${name}` },
    h("h3", { id: `settings-${name}`, tabindex: "-1" }, t(`settings_${name}`)),
    content,
  );

function languageSelect() {
  const options = Object.entries(LANGUAGES).map(([code, name]) =>
    h("option", { value: code, selected: code === language }, name),
  );
  const onchange = ({ target }) => changeLanguage(target.value);
  return h("select", { "aria-labelledby": "settings-language", onchange }, options);
}

function themeChoice() {
  const choices = THEMES.map((name) =>
    h(
      "label",
      h("input", {
        type: "radio",
        name: "theme",
        value: name,
        checked: name === theme(),
        onchange: () => changeTheme(name),
      }),
      t(`theme_${name}`),
    ),
  );
  return h("div.choice", { role: "radiogroup", "aria-labelledby": "settings-appearance" }, choices);
}

function shortcutList() {
  const key = (name) => h("kbd", name);
  return h(
    "dl",
    SHORTCUTS.map(([keys, name]) => h("div", h("dt", keys.map(key)), h("dd", t(name)))),
  );
}

/** The page shows times in the browser's zone; a chat reads times without a zone in its own. */
function zoneForm(chat) {
  const shown = h("p", t("zone_shown", { zone }));
  if (!chat?.session) return [shown];
  const field = h("input", {
    type: "text",
    name: "timezone",
    value: chat.timezone,
    list: "zones",
    required: true,
    autocomplete: "off",
  });
  const zones = Intl.supportedValuesOf("timeZone").map((name) => h("option", { value: name }));
  const save = async () => {
    chat.session = await patch(`sessions/${inPath(chat.key)}`, { timezone: field.value.trim() });
    toast(t("saved"));
  };
  const label = h("label", h("span", t("zone_of_chat")), field);
  return [shown, form([label, h("datalist", { id: "zones" }, zones)], save, () => field.blur())];
}

customElements.define("segue-settings", Settings);

// The auto-commit policy: when a conversation is archived by itself, and how much stays. Empty means off.

import { patch } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { field, form } from "../lib/form.js";

const MINUTE = 60;
/** Suggested for a conversation that has no policy yet. */
const USUAL = { tokens: 8000, keep: 6 };

class Policy extends Part {
  show(chat) {
    if (this.form && this.chat === chat) return;
    this.chat = chat;
    this.form = null;
    const edit = () => this.#edit(chat.session.auto_commit_policy ?? {});
    this.replaceChildren(
      h("span", inWords(chat.session.auto_commit_policy)),
      h("button.quiet", { "aria-label": t("policy_edit"), onclick: edit }, t("edit")),
    );
  }

  #edit(policy) {
    const usual = Object.keys(policy).length ? {} : USUAL;
    const check = h("input", { type: "checkbox", checked: Boolean(policy.enabled) });
    const number = (name, value, max, usual) =>
      field(
        name,
        h("input", { type: "number", min: "0", max, value: String(value || ""), placeholder: usual }),
        { unit: t(`unit_${name}`), help: t(`help_${name}`) },
      );
    const save = async ({ enabled, tokens, minutes, keep }) => {
      const triggers = {
        token_threshold: Number(tokens.value),
        idle_timeout_seconds: Number(minutes.value) * MINUTE,
      };
      const wanted = {
        ...policy,
        ...triggers,
        enabled: enabled.checked,
        keep_recent_count: Number(keep.value),
      };
      const isTrigger = (name) => /_(threshold|seconds)$/.test(name);
      const fields = Object.entries(wanted).filter(([name, value]) => value || !isTrigger(name));
      // A PATCH cannot remove a trigger: clear the policy first, then set it without the trigger.
      const cleared = Object.keys(triggers).some((name) => policy[name] && !triggers[name]);
      if (cleared) await this.#send(null);
      await this.#send(Object.fromEntries(fields));
      this.chat.refreshFuture(0);
    };
    const close = () => {
      this.form = null;
      this.show(this.chat);
      this.lastChild.focus();
    };
    const numbers = [
      number("tokens", policy.token_threshold ?? usual.tokens, "1000000000", t("off")),
      number("minutes", policy.idle_timeout_seconds / MINUTE || "", "1000000", t("off")),
      number("keep", policy.keep_recent_count ?? usual.keep, "10000", "0"),
    ];
    const enabled = h("label.check", Object.assign(check, { name: "enabled" }), t("field_enabled"));
    this.form = form([enabled, ...numbers], save, close);
    this.replaceChildren(this.form);
    check.focus();
  }

  async #send(auto_commit_policy) {
    this.chat.session = await patch(this.chat.path, { auto_commit_policy });
  }
}

function inWords(policy) {
  if (!policy?.enabled) return t("policy_off");
  const limits = {
    tokens: policy.token_threshold,
    messages: policy.message_count_threshold,
    idle: Math.round(policy.idle_timeout_seconds / MINUTE),
  };
  const parts = Object.entries(limits)
    .filter(([, count]) => count)
    .map(([name, count]) => t(`policy_${name}`, { count }));
  return t("policy_on", { when: parts.join(" · ") });
}

customElements.define("segue-policy", Policy);

// A tool call: its name and how long it took; inside, what it was given and what it gave.

import { h, Part, t } from "../lib/dom.js";
import { took } from "../lib/times.js";

const LONGEST = 4000;

class Tool extends Part {
  show(tool) {
    if (!this.differs(tool)) return;
    const open = this.querySelector("details")?.open ?? false;
    const state = !tool.over ? h("span.spin", { role: "img", "aria-label": t("running") }) : null;
    const failed = tool.error !== null && h("span.outcome.error", t("outcome_error"));
    this.replaceChildren(
      h("details", { open },
        h("summary", h("code", tool.name), h("span.gist", gist(tool.given)), failed, h("span.took", took(tool.duration_ms)), state),
        part(t("arguments"), JSON.stringify(tool.given, null, 2)),
        tool.error !== null ? part(t("error"), tool.error) : tool.over && part(t("result"), text(tool.result)),
      ),
    );
  }
}

const part = (name, words) => h("div.part", h("h4", name), h("pre", { tabindex: "0" }, cut(words)));
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");
const cut = (words) => (words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words);

/** What the call is about, in a few words. */
function gist(given) {
  const values = Object.values(given ?? {}).filter((value) => typeof value === "string" || typeof value === "number");
  const words = values.join(" · ").replace(/\s+/g, " ");
  return words.length > 60 ? `${words.slice(0, 60)}…` : words;
}

customElements.define("segue-tool", Tool);

// A tool call in words; unfolded, its name, arguments and result.

import { h, icon, Part, t } from "../lib/dom.js";
import { formatDuration } from "../lib/times.js";
import { inWords } from "../lib/tools.js";

const MOST_CHARACTERS = 4000;

class Tool extends Part {
  show(tool) {
    if (!this.differs(tool)) return;
    const open = this.querySelector("details")?.open ?? false;
    const { label, about } = inWords(tool);
    const state = tool.finished
      ? tool.error !== null && h("span.outcome.error", t("outcome_error"))
      : h("span.spin", { role: "img", "aria-label": t("running") });
    this.replaceChildren(
      h(
        "details",
        { open },
        h("summary", icon("tool"), h("span.does", label), about && h("span.gist", about), state),
        ...this.#details(tool),
      ),
    );
  }

  #details(tool) {
    const result =
      tool.error !== null
        ? part(t("error"), tool.error)
        : tool.finished && part(t("result"), text(tool.result));
    const took = formatDuration(tool.duration_ms);
    return [
      h("p.call", h("code", tool.name), took && h("span.took", took)),
      part(t("arguments"), JSON.stringify(tool.args, null, 2)),
      result,
    ];
  }
}

const part = (name, words) => h("div.part", h("p.name", name), h("pre", { tabindex: "0" }, cut(words)));
const text = (value) => (typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? ""));
const cut = (words) => (words.length > MOST_CHARACTERS ? `${words.slice(0, MOST_CHARACTERS)}…` : words);

customElements.define("segue-tool", Tool);

// A tool call: its name and duration; unfolded, its arguments and result.

import { h, Part, t } from "../lib/dom.js";
import { formatDuration } from "../lib/times.js";

const MOST_CHARACTERS = 4000;

class Tool extends Part {
  show(tool) {
    if (!this.differs(tool)) return;
    const open = this.querySelector("details")?.open ?? false;
    const spinner = !tool.finished && h("span.spin", { role: "img", "aria-label": t("running") });
    const failed = tool.error !== null && h("span.outcome.error", t("outcome_error"));
    const result =
      tool.error !== null
        ? part(t("error"), tool.error)
        : tool.finished && part(t("result"), text(tool.result));
    this.replaceChildren(
      h(
        "details",
        { open },
        h(
          "summary",
          h("code", tool.name),
          h("span.gist", gist(tool.args)),
          failed,
          h("span.took", formatDuration(tool.duration_ms)),
          spinner,
        ),
        part(t("arguments"), JSON.stringify(tool.args, null, 2)),
        result,
      ),
    );
  }
}

const part = (name, words) => h("div.part", h("h4", name), h("pre", { tabindex: "0" }, cut(words)));
const text = (value) => (typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? ""));
const cut = (words) => (words.length > MOST_CHARACTERS ? `${words.slice(0, MOST_CHARACTERS)}…` : words);

/** The simple arguments on one line. */
function gist(args) {
  const values = Object.values(args ?? {}).filter(
    (value) => typeof value === "string" || typeof value === "number",
  );
  const words = values.join(" · ").replace(/\s+/g, " ");
  return words.length > 60 ? `${words.slice(0, 60)}…` : words;
}

customElements.define("segue-tool", Tool);

// One conversation in the list: its title, its last line, and what goes on in it.

import { h, icon, Part, t } from "../lib/dom.js";
import { ago, coming } from "../lib/times.js";

class Session extends Part {
  show(session, { unread, current }) {
    if (!this.differs(session, unread, current)) return;
    const title = session.title || t("untitled");
    const said = session.last_line_at && ago(new Date(session.last_line_at));
    this.replaceChildren(
      h("a", { href: `#${encodeURIComponent(session.key)}`, "data-key": session.key, "aria-current": current ? "page" : null, class: unread ? "unread" : null },
        h("span.title", unread && h("span.dot", { role: "img", "aria-label": t("unread") }), h("span.words", title)),
        h("span.when", ...this.#marks(session), said),
        h("span.last", plain(session.last_line ?? "")),
      ),
    );
  }

  #marks(session) {
    const marks = [];
    if (session.state === "running") marks.push(h("span.running", { role: "img", named: t("running") }));
    if (session.queued) marks.push(h("span.queued", { title: t("waiting", { count: session.queued }) }, `+${session.queued}`));
    if (session.recall) {
      const at = session.recall.trigger_at && coming(new Date(session.recall.trigger_at));
      const name = session.recall.status === "running" ? t("recall_running") : at ? t("recall_at", { time: at }) : t("pending_recall");
      marks.push(h("span.recall", { role: "img", named: name }, icon("clock")));
    }
    return marks;
  }
}

/** A line of Markdown as a line of text. */
const plain = (line) => line.replace(/[*_`#>~]+|\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\s+/g, " ").trim();

customElements.define("segue-session", Session);

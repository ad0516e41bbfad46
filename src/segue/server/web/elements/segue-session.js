// One conversation in the list: its title, last line, and marks for running, queued and recall.

import { h, icon, Part, t } from "../lib/dom.js";
import { formatPast, formatUpcoming } from "../lib/times.js";

class Session extends Part {
  show(session, { unread, current }) {
    if (!this.differs(session, unread, current)) return;
    const title = session.title || t("untitled");
    const lastUsed = session.last_line_at && formatPast(new Date(session.last_line_at));
    this.replaceChildren(
      h(
        "a",
        {
          href: `#${encodeURIComponent(session.key)}`,
          "data-key": session.key,
          "aria-current": current ? "page" : null,
          class: unread ? "unread" : null,
        },
        h(
          "span.title",
          unread && h("span.dot", { role: "img", "aria-label": t("unread") }),
          h("span.words", title),
        ),
        h("span.when", ...this.#marks(session), lastUsed),
        h("span.last", plain(session.last_line ?? "")),
      ),
    );
  }

  #marks(session) {
    const marks = [];
    if (session.state === "running") marks.push(h("span.running", { role: "img", named: t("running") }));
    if (session.queued) {
      marks.push(h("span.queued", { title: t("waiting", { count: session.queued }) }, `+${session.queued}`));
    }
    if (session.recall) {
      const named = recallName(session.recall);
      marks.push(h("span.recall", { role: "img", named }, icon("clock")));
    }
    return marks;
  }
}

function recallName({ status, trigger_at: at }) {
  if (status === "running") return t("recall_running");
  return at ? t("recall_at", { time: formatUpcoming(new Date(at)) }) : t("pending_recall");
}

/** A line of Markdown as plain text. */
const plain = (line) =>
  line
    .replace(/!?\[([^\]]*)\]\([^)]*\)|\[\^[^\]]*\]/g, "$1")
    .replace(/\|[\s|:-]*|[*_`#>~]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();

customElements.define("segue-session", Session);

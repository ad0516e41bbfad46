// One conversation in the list: title, last line, what happens next, and marks for running and queued.

import { h, icon, Part, setText, t } from "../lib/dom.js";
import { everySecond, formatPast, formatUpcoming } from "../lib/times.js";

class Session extends Part {
  enter() {
    everySecond(() => this.#tick(), this.lifetime.signal);
  }

  show(session, { unread, current, owner }) {
    if (!this.differs(session, unread, current, owner)) return;
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
          h("span.words", title),
          owner && h("span.owner", t("owned_by", { user: owner })),
        ),
        h("span.when", ...this.#marks(session), lastUsed, unread > 0 && badge(unread)),
        h("span.last", plain(session.last_line ?? "")),
        this.#coming(session),
      ),
    );
  }

  /** What happens next in it; updated every second. */
  #coming({ upcoming }) {
    this.upcoming = null;
    if (!upcoming) return null;
    this.upcoming = Object.assign(h("span"), { at: new Date(upcoming.at), name: upcoming.name });
    this.#tick();
    return h("span.coming", icon("clock"), this.upcoming);
  }

  #tick() {
    const { upcoming } = this;
    if (upcoming) setText(upcoming, `${formatUpcoming(upcoming.at)} · ${upcoming.name}`);
  }

  #marks(session) {
    const marks = [];
    if (session.state === "running") marks.push(h("span.running", { role: "img", named: t("running") }));
    if (new Date(session.waiting_until ?? 0) > Date.now()) {
      marks.push(h("span.asks", { role: "img", named: t("asks_you") }, "?"));
    }
    if (session.queued) {
      marks.push(h("span.queued", { title: t("waiting", { count: session.queued }) }, `+${session.queued}`));
    }
    return marks;
  }
}

const MOST_SHOWN = 99;
const badge = (count) =>
  h("span.unread-count", { role: "img", named: t("unread", { count }) }, count > MOST_SHOWN ? `${MOST_SHOWN}+` : `${count}`);

/** A line of Markdown as plain text. */
const plain = (line) =>
  line
    .replace(/!?\[([^\]]*)\]\([^)]*\)|\[\^[^\]]*\]/g, "$1")
    .replace(/[*_`~]+/g, "")
    .replace(/\|[\s|:-]*|[#>]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();

customElements.define("segue-session", Session);

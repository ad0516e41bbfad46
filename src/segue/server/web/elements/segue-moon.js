// A moon in the header while the conversation keeps quiet: until when. It leads to the settings.

import { get } from "../lib/api.js";
import { h, icon, Part, setText, t } from "../lib/dom.js";
import { isQuietNow } from "../lib/quiet.js";
import { everySecond, formatClock, formatFull } from "../lib/times.js";

const LOOK_AGAIN_MS = 60_000;

class Moon extends Part {
  #looked = 0;

  build() {
    this.words = h("span");
    this.button = h("button.moon", { onclick: () => this.emit("segue-settings", "quiet") }, icon("moon"), this.words);
    this.append(this.button);
    this.hidden = true;
  }

  enter() {
    everySecond(() => this.#tick(), this.lifetime.signal);
  }

  set chat(chat) {
    this.shown = chat;
    if (this.built) this.#tick();
  }

  #tick() {
    const session = this.shown?.session;
    const until = session?.quiet_until && new Date(session.quiet_until);
    const quiet = Boolean(until) && until > Date.now();
    this.hidden = !quiet;
    if (session?.quiet && quiet !== isQuietNow(session)) this.#look(this.shown);
    if (!quiet) return;
    setText(this.words, t("quiet_until", { time: formatClock(until) }));
    this.button.title = t("quiet_now", { time: formatFull(until) });
  }

  /** Quiet hours have begun or ended while the page is open: the server says until when. */
  async #look(chat) {
    if (Date.now() - this.#looked < LOOK_AGAIN_MS) return;
    this.#looked = Date.now();
    const { quiet_until: until } = await get(chat.path).catch(() => chat.session);
    chat.session.quiet_until = until;
  }
}

customElements.define("segue-moon", Moon);

// Files that are about to be sent: chosen, dropped or pasted, uploaded at once, and removable until then.

import { h, icon, Part, t } from "../lib/dom.js";
import { formatSize, isShown, showImage, upload } from "../lib/files.js";
import { markUsed } from "../lib/route.js";

const MOST = 20;
const stored = (key) => `segue.files.${key}`;
const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");

/** The files of each conversation, also while another one is open. */
const waiting = new Map();

const itemsOf = (parts) => parts.map((part) => ({ name: part.name, size: part.size, part }));

/** Files that were uploaded before the page was reloaded. */
const restored = (key) => itemsOf(JSON.parse(localStorage.getItem(stored(key)) ?? "[]"));

class Files extends Part {
  #chat = null;

  build() {
    this.input = h("input", { type: "file", multiple: true, hidden: true, "aria-label": t("attach") });
    this.input.addEventListener("change", () => {
      this.#add([...this.input.files]);
      this.input.value = "";
    });
    this.tray = h("ul", { "aria-label": t("attachments") });
    this.note = h("p.problem", { role: "alert", hidden: true });
    this.append(this.input, this.tray, this.note);
  }

  enter() {
    const talk = this.closest("segue-talk");
    this.on(talk, "dragover", (event) => this.#dragged(event, talk));
    this.on(talk, "dragleave", ({ relatedTarget }) => {
      if (!talk.contains(relatedTarget)) talk.classList.remove("dropping");
    });
    this.on(talk, "drop", (event) => {
      talk.classList.remove("dropping");
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.#add([...event.dataTransfer.files]);
    });
    this.on(this.closest("form"), "paste", (event) => {
      const files = [...event.clipboardData.files];
      if (!files.length) return;
      event.preventDefault();
      this.#add(files);
    });
  }

  set chat(chat) {
    this.#chat = chat;
    if (!waiting.has(chat.key)) waiting.set(chat.key, restored(chat.key));
    this.#say("");
    this.#changed();
  }

  get #items() {
    return waiting.get(this.#chat?.key) ?? [];
  }

  /** What has been uploaded. */
  get parts() {
    return this.#items.flatMap(({ part }) => part ?? []);
  }

  get busy() {
    return this.#items.some(({ part }) => !part);
  }

  choose() {
    this.input.click();
  }

  /** Returns the parts for a message, and forgets them here. */
  take() {
    const { parts } = this;
    waiting.set(this.#chat.key, []);
    this.#say("");
    this.#changed();
    return parts;
  }

  /** The files of a message that the server refused. */
  putBack({ session, parts = [] }) {
    waiting.set(session, [...(waiting.get(session) ?? []), ...itemsOf(parts)]);
    if (session === this.#chat.key) this.#changed();
  }

  #dragged(event, talk) {
    if (!hasFiles(event)) return;
    event.preventDefault();
    talk.classList.add("dropping");
  }

  #add(files) {
    this.#say(this.#items.length + files.length > MOST ? t("files_too_many", { count: MOST }) : "");
    for (const file of files.slice(0, MOST - this.#items.length)) this.#upload(file);
    this.closest("segue-composer").focus();
  }

  async #upload(file) {
    const chat = this.#chat;
    const items = this.#items;
    const item = { name: file.name, size: file.size, share: 0, cancel: new AbortController() };
    items.push(item);
    this.#changed();
    try {
      if (!file.size) throw new Error(t("file_empty"));
      markUsed(chat.key);
      item.part = await upload(chat.path, file, {
        signal: item.cancel.signal,
        onProgress: (share) => {
          item.share = share;
          if (item.bar) item.bar.value = share;
        },
      });
      item.changed = file.type.startsWith("image/") && item.part.type !== "image";
    } catch (problem) {
      items.splice(items.indexOf(item), 1);
      if (chat === this.#chat) this.#say(`${file.name}: ${problem.message}`);
    }
    if (chat === this.#chat) this.#changed();
  }

  #say(words) {
    this.note.textContent = words;
    this.note.hidden = !words;
  }

  #changed() {
    const { key } = this.#chat;
    const parts = this.#items.flatMap(({ part }) => part ?? []);
    if (parts.length) localStorage.setItem(stored(key), JSON.stringify(parts));
    else localStorage.removeItem(stored(key));
    this.tray.replaceChildren(...this.#items.map((item) => this.#item(item)));
    this.emit("segue-files");
  }

  #item(item) {
    const { part, name, size } = item;
    const remove = () => {
      item.cancel?.abort();
      this.#items.splice(this.#items.indexOf(item), 1);
      this.#changed();
    };
    item.bar = part ? null : h("progress", { max: "1", value: String(item.share), "aria-label": name });
    return h(
      "li.chip",
      picture(part) ?? icon("file"),
      h("span.file-name", part?.name ?? name),
      h("span.size", item.changed ? t("not_an_image") : formatSize(size)),
      item.bar,
      h("button.icon-button", { named: t("remove_file", { name }), onclick: remove }, icon("close")),
    );
  }
}

/** A small picture of an image that was uploaded. */
function picture(part) {
  if (!part || !isShown(part)) return null;
  const image = h("img", { alt: "" });
  showImage(image, part, () => image.replaceWith(icon("file")));
  return image;
}

customElements.define("segue-files", Files);

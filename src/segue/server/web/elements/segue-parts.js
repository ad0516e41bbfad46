// The files of a message: images as thumbnails, others as chips to download.

import { h, icon, Part, t } from "../lib/dom.js";
import { downloadUrl, formatSize, isShown, showImage } from "../lib/files.js";

class Parts extends Part {
  set parts(parts) {
    if (this.differs(parts.map(({ id }) => id))) this.replaceChildren(...parts.map((part) => this.#part(part)));
  }

  #part(part) {
    return isShown(part) ? this.#thumbnail(part) : chip(part);
  }

  /** The image is loaded when it comes near the screen. One that the browser cannot read is a chip. */
  #thumbnail(part) {
    const picture = h("img", { alt: part.name, title: part.name });
    const button = h(
      "button.thumbnail",
      { "aria-label": t("show_image", { name: part.name }), onclick: () => this.#enlarge(part) },
      picture,
    );
    const near = new IntersectionObserver(
      ([{ isIntersecting }]) => {
        if (!isIntersecting) return;
        near.disconnect();
        showImage(picture, part, () => button.replaceWith(chip(part)));
      },
      { rootMargin: "600px" },
    );
    near.observe(button);
    return button;
  }

  #enlarge(part) {
    const picture = h("img", { alt: part.name });
    const close = h("button.icon-button", { named: t("close"), onclick: () => dialog.close() }, icon("close"));
    const dialog = h(
      "dialog.picture",
      { "aria-label": part.name, onclick: ({ target }) => target === dialog && dialog.close() },
      picture,
      h("footer", chip(part), close),
    );
    dialog.addEventListener("close", () => dialog.remove());
    this.append(dialog);
    dialog.showModal();
    showImage(picture, part, () => dialog.close());
  }
}

/** A link that saves the file. */
function chip(part) {
  const saved = { href: downloadUrl(part), download: part.name, title: t("download", { name: part.name }) };
  return h("a.chip", saved, icon("file"), h("span.file-name", part.name), h("span.size", formatSize(part.size)));
}

customElements.define("segue-parts", Parts);

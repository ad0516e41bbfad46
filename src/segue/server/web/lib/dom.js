// Making elements, and the words in them. What a server or a person wrote enters as text; the one exception is `setHtml`.

export { t } from "./words.js";

/** `h("button.quiet", { onclick, "aria-label": "Copy" }, icon, "text")`. Null and false leave out; `named` is
 * a name for the eye, on hover, and for the ear. */
export function h(name, ...children) {
  const { named, ...attributes } = children[0]?.constructor === Object ? children.shift() : {};
  if (named) Object.assign(attributes, { "aria-label": named, title: named });
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.classList.add(...classes);
  if (tag === "button") made.type = "button";
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (key === "class") made.classList.add(value);
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child != null && child !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";
/** On a grid of 24. */
const PATHS = {
  clock: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 7.5V12l3 2",
  plus: "M12 5v14M5 12h14",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM15.5 15.5 20 20",
  stop: "M7 7h10v10H7Z",
  send: "M12 19V5M6 11l6-6 6 6",
  menu: "M4 7h16M4 12h16M4 17h16",
  panel: "M4 5h16v14H4ZM14.5 5v14",
  copy: "M9 9h10v11H9ZM15 9V4H5v11h4",
  check: "M5 12.5 10 17 19 7",
  close: "M6 6l12 12M18 6 6 18",
  edit: "M4.5 19.5l1-4L16 5l3 3L8.5 18.5ZM14 7l3 3",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l1 12.5h8L17 7",
  down: "M12 5v14M6 13l6 6 6-6",
  chat: "M4 5h16v11H10l-4 4v-4H4Z",
  leave: "M10 5H5v14h5M14 8l4 4-4 4M18 12H9",
};

/** Drawn in the colour of the text around it. */
export function icon(name) {
  const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS(SVG, tag));
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

const rendered = new WeakMap();

/** Server-rendered, sanitised HTML, and the text that was not rendered yet. What stays the same stays where it
 * is, with its selection, and is not laid out again. */
export function setHtml(place, html, tail = "") {
  const { shown, tailed } = rendered.get(place) ?? { tailed: h("span.tail") };
  rendered.set(place, { shown: html, tailed });
  if (shown !== html) {
    const wanted = document.createElement("template");
    wanted.innerHTML = html;
    tailed.remove();
    become(place, wanted.content);
  }
  setText(tailed, tail);
  if (!tail) return tailed.remove();
  const last = place.lastElementChild;
  if (!place.contains(tailed)) (last?.localName === "p" ? last : place).append(tailed);
}

function become(place, wanted) {
  const fresh = [...wanted.childNodes];
  fresh.forEach((node, at) => {
    const there = place.childNodes[at];
    if (!there) place.append(node);
    else if (there.isEqualNode(node)) return;
    else if (!there.cloneNode(false).isEqualNode(node.cloneNode(false)) && !(there.data && node.data)) there.replaceWith(node);
    else if (there.data) grow(there, node.data);
    else become(there, node);
  });
  while (place.childNodes.length > fresh.length) place.lastChild.remove();
}

function grow(there, text) {
  if (text.startsWith(there.data)) there.appendData(text.slice(there.length));
  else there.data = text;
}

/** Text that mostly stays as it is, or grows. */
export function setText(element, text) {
  if (!element.firstChild) element.append(text);
  else if (element.firstChild.data !== text) grow(element.firstChild, text);
}

/** Make `parent` hold exactly these, moving and removing as little as possible. */
export function arrange(parent, wanted) {
  const kept = new Set(wanted);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  wanted.forEach((child, place) => {
    if (parent.children[place] !== child) parent.insertBefore(child, parent.children[place] ?? null);
  });
}

/** An element that builds itself once, and stops listening when it leaves the page. */
export class Part extends HTMLElement {
  #shown = "";

  connectedCallback() {
    this.leaving = new AbortController();
    if (!this.built) {
      // It may have been given things before its class was here.
      const given = Object.entries(this).filter(([name]) => name in Object.getPrototypeOf(this));
      this.built = true;
      this.build?.();
      for (const [name, value] of given) {
        delete this[name];
        this[name] = value;
      }
    }
    this.enter?.();
  }

  disconnectedCallback() {
    this.leaving.abort();
  }

  /** Whether this is another thing to show than the last time. */
  differs(...wanted) {
    const before = this.#shown;
    this.#shown = JSON.stringify(wanted);
    return this.#shown !== before;
  }

  /** To whoever is around this element. */
  tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));
  }

  on(target, type, hear) {
    target.addEventListener(type, hear, { signal: this.leaving.signal });
  }
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Once for any number of calls before the next frame, and not again within so many milliseconds. */
export function framed(work, pause = 0) {
  let waiting = false;
  let last = 0;
  const run = () =>
    requestAnimationFrame((now) => {
      [waiting, last] = [false, now];
      work();
    });
  return () => {
    if (waiting) return;
    waiting = true;
    const left = last + pause - performance.now();
    if (left > 0) setTimeout(run, left);
    else run();
  };
}

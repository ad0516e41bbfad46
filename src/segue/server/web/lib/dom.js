// Helpers for building elements. All content is inserted as text, except by `setHtml` in prose.js.

export { t } from "./words.js";

/**
 * Creates an element: `h("button.quiet", { onclick, "aria-label": "Copy" }, icon, "text")`.
 * Null and false are left out; `named` sets both the tooltip and the accessible name.
 */
export function h(name, ...children) {
  const { named, ...attributes } = children[0]?.constructor === Object ? children.shift() : {};
  if (named) Object.assign(attributes, { "aria-label": named, title: named });
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.classList.add(...classes);
  if (tag === "button") element.type = "button";
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (key === "class") element.classList.add(value);
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
/** SVG paths on a grid of 24. */
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
  archive: "M4 5h16v4H4ZM5.5 9v10h13V9M10 12.5h4",
  tool: "M14.5 6.5a3.5 3.5 0 0 1 4-1l-2.2 2.2 2 2L20.5 7.5a3.5 3.5 0 0 1-4.600 4.400L9 19a2 2 0 0 1-3-3l7-7a3.5 3.5 0 0 1 1.5-2.5Z",
  pause: "M9 6v12M15 6v12",
  resume: "M8 5.5v13l10-6.5Z",
  skip: "M6 6l8 6-8 6ZM18 6v12",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  why: "M9.5 9.5a2.5 2.5 0 1 1 3.600 2.200c-.8.5-1.100 1-1.100 1.800M12 16.800h.01M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17Z",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5ZM9 14.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5Z",
  retry: "M19 12a7 7 0 1 1-2.100-5M19 4v4.500h-4.500",
  clip: "M19 11.500l-7.500 7.500a4.500 4.500 0 0 1-6.400-6.400L13 4.800a3 3 0 0 1 4.200 4.200l-7.800 7.800a1.500 1.500 0 0 1-2.100-2.100L14 8",
  file: "M6.500 3.500h7l4 4v13h-11ZM13.500 3.500v4h4",
  moon: "M19.500 14A8 8 0 1 1 10 4.500a6.500 6.500 0 0 0 9.500 9.500Z",
  undo: "M9 6 5 10l4 4M5 10h9a5 5 0 0 1 0 10h-3",
};

/** An icon in the colour of the surrounding text. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** Changes a text node, by appending if it only got longer. */
export function updateText(node, text) {
  if (text.startsWith(node.data)) node.appendData(text.slice(node.length));
  else node.data = text;
}

/** Sets text that is usually the same as before, or longer. */
export function setText(element, text) {
  if (!element.firstChild) element.append(text);
  else if (element.firstChild.data !== text) updateText(element.firstChild, text);
}

/** Makes `wanted` the children of `parent`, moving and removing as little as possible. */
export function arrange(parent, wanted) {
  const kept = new Set(wanted);
  for (const child of [...parent.children]) {
    if (!kept.has(child)) child.remove();
  }
  wanted.forEach((child, index) => {
    const current = parent.children[index] ?? null;
    if (current !== child) parent.insertBefore(child, current);
  });
}

/**
 * Base of the elements. `build` runs once, `enter` each time the element is added to the page; listeners that
 * were added with `on` are removed with it.
 */
export class Part extends HTMLElement {
  #shown = "";

  connectedCallback() {
    this.lifetime = new AbortController();
    if (!this.built) {
      // Properties that were set before the class was loaded hide its setters: set them again.
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
    this.lifetime.abort();
  }

  /** Whether these values differ from those of the last call. */
  differs(...wanted) {
    const before = this.#shown;
    this.#shown = JSON.stringify(wanted);
    return this.#shown !== before;
  }

  /** Dispatches an event that bubbles up to the elements around this one. */
  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));
  }

  on(target, type, listener) {
    target.addEventListener(type, listener, { signal: this.lifetime.signal });
  }
}

export const prefersReducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Ends the current task, so that the browser can paint and react to the user before more work. */
export const nextTask = () => new Promise((next) => setTimeout(next));

/** Runs `work` in the next frame, once for any number of calls, and at most once in `pause` milliseconds. */
export function oncePerFrame(work, pause = 0) {
  let waiting = false;
  let last = 0;
  const run = () =>
    requestAnimationFrame((now) => {
      waiting = false;
      last = now;
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

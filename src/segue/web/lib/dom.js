// Making elements. What a server or a person wrote enters as text; the one exception is `setHtml`.

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
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") made.classList.add(value);
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
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
      this.built = true;
      this.build?.();
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

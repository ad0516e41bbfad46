// Making elements. What a server or a person wrote enters as text; the one exception is `setHtml`.

/** `h("button.quiet", { onclick, "aria-label": "Copy" }, icon, "text")`. Null and false leave out. */
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.classList.add(...classes);
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

/** Server-rendered, sanitised HTML, and the text that was not rendered yet. Blocks that stay the same stay
 * where they are, with their selection. */
export function setHtml(place, html, tail = "") {
  const last = place.lastElementChild;
  const tailed = last?.className === "tail" ? last : null;
  if (rendered.get(place) === html && tailed && tail) return void (tailed.textContent = tail);
  rendered.set(place, html);
  const wanted = document.createElement("template");
  wanted.innerHTML = html;
  const fresh = [...wanted.content.childNodes];
  if (tail) fresh.push(h("span.tail", {}, tail));
  let same = 0;
  while (same < fresh.length && place.childNodes[same]?.isEqualNode(fresh[same])) same += 1;
  while (place.childNodes.length > same) place.lastChild.remove();
  place.append(...fresh.slice(same));
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

  on(target, type, hear) {
    target.addEventListener(type, hear, { signal: this.leaving.signal });
  }
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Once for any number of calls before the next frame. */
export function framed(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

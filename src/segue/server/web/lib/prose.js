// Rendered Markdown: shows the server's HTML and adds what belongs to the page: directions, frames, buttons.

import { h, icon, setText, t, updateText } from "./dom.js";

const rendered = new WeakMap();

/**
 * Shows HTML that the server has rendered and sanitised, then `tail`, text that is not rendered yet.
 * Nodes that do not change stay in place, so that they keep their selection and layout.
 */
export function setHtml(element, html, tail = "") {
  const { shown, tailSpan } = rendered.get(element) ?? { tailSpan: h("span.tail") };
  rendered.set(element, { shown: html, tailSpan });
  if (shown !== html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    complete(template.content);
    tailSpan.remove();
    morph(element, template.content);
  }
  setText(tailSpan, tail);
  if (!tail) return tailSpan.remove();
  if (element.contains(tailSpan)) return;
  const last = element.lastElementChild;
  if (!last || last.localName === "p") (last ?? element).append(tailSpan);
}

/** Makes the children of `element` equal to those of `wanted`, changing as little as possible. */
function morph(element, wanted) {
  const nodes = [...wanted.childNodes];
  nodes.forEach((node, index) => {
    const current = element.childNodes[index];
    if (!current) element.append(node);
    else if (current.isEqualNode(node)) return;
    else if (!sameKind(current, node)) current.replaceWith(node);
    else if (current.data) updateText(current, node.data);
    else morph(current, node);
  });
  while (element.childNodes.length > nodes.length) element.lastChild.remove();
}

/** Two texts, or two elements that differ only in their children. */
function sameKind(one, other) {
  return (one.data && other.data) || one.cloneNode(false).isEqualNode(other.cloneNode(false));
}

const TEXT_BLOCKS = "p, ul, ol, blockquote, table, h1, h2, h3, h4, h5, h6";

/** Each block has the direction of its own text; tables and code scroll in a frame of their own. */
function complete(content) {
  for (const block of content.children) {
    if (block.matches(TEXT_BLOCKS)) block.dir = "auto";
  }
  for (const table of content.querySelectorAll("table")) {
    const frame = h("div.frame", { tabindex: "0", role: "region", "aria-label": t("table") });
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const pre of content.querySelectorAll("pre")) {
    const language = pre.firstElementChild?.className.replace("language-", "") ?? "";
    const button = h("button.quiet.copy-code", { named: t("copy_code") }, icon("copy"));
    const frame = h("div.code", { dir: "ltr" }, h("div.bar", h("span", language), button));
    pre.tabIndex = 0;
    pre.replaceWith(frame);
    frame.append(pre);
  }
}

// The readable part of a Markdown text that is still growing. Pure.
//
// What is not complete is either shown as it will look, or held back: a table row, a link, a fence or a list
// mark never appears as raw characters, and what is shown stays when the rest arrives.

const FENCE = /^[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?!.*`)|~{3,})/;
const DELIMITER_ROW = /^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const DELIMITER_BEGUN = /^[ \t>|:-]*$/;
/** The marks at the start of a line: quotes and list items. */
const LEAD = "[ \\t]*(?:>[ \\t]*)*(?:(?:[-*+]|\\d{1,9}[.)])[ \\t]+)*";
/** A line that may still become a list item, a task, a heading, a rule, an underline or a fence. */
const MARK_ONLY = new RegExp(`^${LEAD}(?:[-*+_=#\`~]+|\\d{1,9}[.)]?|\`{3}.*|\\[[ xX]?\\]?)?[ \\t]*$`);
/** A line that may define a link or a note. */
const DEFINITION = /^[ \t]*\[[^\]]*(?:\](?::.*)?)?$/;

/** Returns the text without its incomplete end, with open marks closed. */
export function readable(text) {
  const segments = split(text);
  const last = segments.pop();
  const closed = segments.map((each) => (each.fence ? each.text : withoutReferences(each.text)));
  const open = last.fence
    ? withoutFenceEnd(last.text, last.fence)
    : closeMarks(withoutLastRow(withoutReferences(last.text)));
  return closed.join("") + open;
}

/** Splits into code and paragraphs; the last one may still change. A fence belongs to its code. */
function split(text) {
  const segments = [{ text: "", fence: null }];
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const current = segments.at(-1);
    const [, mark] = FENCE.exec(line) ?? [];
    if (current.fence) {
      current.text += line;
      if (mark?.startsWith(current.fence) && line.trim().endsWith(mark)) segments.push(empty());
    } else if (mark) {
      segments.push({ text: line, fence: mark });
    } else {
      current.text += line;
      if (!line.trim()) segments.push(empty());
    }
  }
  return segments;
}

const empty = () => ({ text: "", fence: null });

/** Notes and references are defined at the end: until then, a note is left out and a link is its text. */
function withoutReferences(text) {
  return text.replace(/\[\^[^\]\s]+\](?!:)/g, "").replace(/\[([^[\]\n]+)\]\[[^[\]\n]*\]/g, "$1");
}

/** Code: no opening line without its end, and no closing fence that has only begun. */
function withoutFenceEnd(block, fence) {
  const end = block.lastIndexOf("\n") + 1;
  const last = block.slice(end).trim();
  const begun = last && (!end || fence.startsWith(last));
  return begun ? block.slice(0, end) : block;
}

/** Prose: no row of a table that is not complete, and no line that has only its mark. */
function withoutLastRow(block) {
  const lines = block.split("\n");
  const header = lines.findIndex(
    (line, index) => line.includes("|") && DELIMITER_BEGUN.test(lines[index + 1] ?? ""),
  );
  if (header >= 0) {
    const isTable = header + 2 < lines.length && DELIMITER_ROW.test(lines[header + 1]);
    if (isTable) return `${lines.slice(0, -1).join("\n")}\n`;
    return [...lines.slice(0, header), lines[header].split("|")[0]].join("\n");
  }
  const last = lines.at(-1);
  const held = last && (MARK_ONLY.test(last) || DEFINITION.test(last));
  return held ? lines.slice(0, -1).join("\n") : block;
}

/** Closes code and emphasis that are open at the end; leaves out marks without content. */
function closeMarks(block) {
  const whole = withoutOpenFormula(block.replace(/\\$|&#?\w*$|<[a-z/][^>\s]*$|<$/i, ""));
  const text = withoutOpenLink(whole).replace(/!$/, "").trimEnd();
  const [run] = /(?:\*+|_+|~+|`+)$/.exec(text) ?? [""];
  if (run && !openMarks(text.slice(0, -run.length)).includes(run)) {
    return closeMarks(text.slice(0, -run.length));
  }
  return text + openMarks(text).reverse().join("");
}

/** Leaves out a formula that has begun. A sum of money is none. */
function withoutOpenFormula(text) {
  const closed = /\$\$[^]*?\$\$|\\\([^]*?\\\)|\\\[[^]*?\\\]|(?<!\$)\$(?=[^\s$])[^$\n]*?[^\s$\\]\$(?![\d$])/g;
  const masked = text.replace(closed, (formula) => " ".repeat(formula.length));
  const open = masked.search(/\$\$|\\[([]|\$(?=[^\s\d]|$)/);
  return open < 0 ? text : text.slice(0, open);
}

/** A link or an image without its address is its text. */
function withoutOpenLink(text) {
  return text
    .replace(/!?\[([^[\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\(?[^()\n]*$/, "$1")
    .replace(/!?\[([^[\]\n]*)\]\[[^[\]\n]*$/, "$1")
    .replace(/!?\[\^[^\]\n]*$/, "")
    .replace(/!?\[([^[\]\n]*)\]?$/, "$1");
}

/** The marks that are open at the end of the text, the outermost first. */
function openMarks(text) {
  const open = [];
  const marks = /\\[^]|\n[ \t]*(?:[-*+]|\d+[.)])[ \t]|`+|\*{1,3}|_{1,3}|~~/g;
  for (let found = marks.exec(text); found; found = marks.exec(text)) {
    const [run] = found;
    if (run[0] === "\\") continue;
    if (run[0] === "\n") open.length = 0;
    else if (run[0] === "`") {
      const closed = text.indexOf(run, marks.lastIndex);
      if (closed < 0) return [...open, run];
      marks.lastIndex = closed + run.length;
    } else toggle(open, run, text[found.index - 1] ?? " ", text[marks.lastIndex] ?? " ");
  }
  return open;
}

function toggle(open, run, before, after) {
  const inWord = (character) => run[0] === "_" && /[\p{L}\p{N}]/u.test(character);
  if (/\S/.test(before) && !inWord(after) && open.includes(run)) open.length = open.lastIndexOf(run);
  else if (/\S/.test(after) && !inWord(before)) open.push(run);
}

/** Characters that mean the same in Markdown and in plain text, within a paragraph. */
const PLAIN = /^[\p{L}\p{N}\p{Zs}.,;:?'"’“”()…–-]*/u;

/** The text after the rendered part that may be shown before it is rendered. */
export function tailOf({ text, rendered, held, unrendered }) {
  const rest = text.slice(rendered);
  if (unrendered) return rest;
  if (held || (!rendered && !/^\p{L}/u.test(rest))) return "";
  return PLAIN.exec(rest)[0];
}

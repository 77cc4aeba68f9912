// The Markdown of models as elements: headings, emphasis, lists, code and links. Everything
// else, HTML too, is text.

import { el } from "./dom.js";
import { ordered } from "./words.js";

const MAX = 50_000; // characters of a text that is read as Markdown
const INLINE = /(`+)(.+?)\1|\*\*(?=\S)(.+?)\*\*|\*(?=[^\s*])([^*]+?)\*|\[([^\]]+)\]\((https?:[^\s)]+)\)/g;

// isMarkdown reports whether a text has signs of Markdown.
export const isMarkdown = (text) => text.length <= MAX && /[*`[]|^(?:#{1,6}|-|\d+\.) /m.test(text);

function inline(text) {
  const nodes = [];
  let at = 0;
  for (const m of text.matchAll(INLINE)) {
    const [whole, , code, strong, weak, label, href] = m;
    nodes.push(ordered(text.slice(at, m.index)));
    if (code) nodes.push(el("code", {}, code));
    else if (strong) nodes.push(el("strong", {}, ...inline(strong)));
    else if (weak) nodes.push(el("em", {}, ...inline(weak)));
    else nodes.push(el("a", { href, rel: "noopener noreferrer nofollow", target: "_blank" }, label));
    at = m.index + whole.length;
  }
  nodes.push(ordered(text.slice(at)));
  return nodes.filter((n) => n !== "");
}

// markdown returns the elements of a text.
export function markdown(text) {
  const blocks = [], lines = text.split("\n");
  let open = null; // the paragraph or list that the next line continues
  const add = (tag, attributes, children) => blocks.push((open = el(tag, { dir: "auto", ...attributes }, ...children)));
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i], fence = /^\s*(```+|~~~+)/.exec(line)?.[1];
    const [, heading] = /^#{1,6}\s+(.*)$/.exec(line) ?? [], [, number, item] = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/.exec(line) ?? [];
    if (fence) {
      const end = lines.findIndex((l, n) => n > i && l.trim().startsWith(fence));
      const code = lines.slice(i + 1, end < 0 ? lines.length : end);
      add("pre", {}, [ordered(code.join("\n"))]);
      i = end < 0 ? lines.length : end, open = null;
    } else if (heading) {
      add("p", {}, [el("strong", {}, ...inline(heading))]);
      open = null;
    } else if (item !== undefined) {
      const tag = number ? "ol" : "ul";
      if (open?.localName !== tag) add(tag, number ? { start: number } : {}, []);
      open.append(el("li", {}, ...inline(item)));
    } else if (line.trim() === "") open = null;
    else if (open?.localName === "p") open.append("\n", ...inline(line));
    else if (open && /^\s/.test(line)) open.lastChild.append("\n", ...inline(line.trim()));
    else add("p", {}, inline(line));
  }
  return blocks;
}

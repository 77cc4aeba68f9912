// Creating and changing elements, through textContent only. Texts and names can be
// foreign: their controls are shown as escapes.

import { visible } from "./words.js";

export const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

// el creates an element: attributes as in HTML, on<event> functions as
// listeners, without those that are false or null; children are nodes or text.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : NAMES.test(name) ? visible(value) : value);
  }
  node.append(...children.filter((c) => c != null).map((c) => (c.nodeType ? c : visible(String(c)))));
  return node;
}

const NAMES = /^(title|aria-label)$/;

// icon returns a symbol of the page's sprite, hidden from screen readers.
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS(SVG, "use"));
  setIcon(svg, name);
  return svg;
}

export function setIcon(svg, name) {
  const href = "#i-" + name;
  if (svg.firstChild.getAttribute("href") !== href) svg.firstChild.setAttribute("href", href);
}

// say sets an element's text if it differs, and hides an element without text.
export function say(node, text) {
  text = visible(text);
  if (node.textContent !== text) {
    // A change of data is not one of the children, which selectors depend on.
    if (node.childNodes.length === 1 && node.firstChild.data !== undefined) node.firstChild.data = text;
    else node.textContent = text;
  }
  if (node.hidden !== (text === "")) node.hidden = text === "";
}

// mark sets a data attribute if it differs.
export function mark(node, name, value) {
  if (node.dataset[name] !== value) node.dataset[name] = value;
}

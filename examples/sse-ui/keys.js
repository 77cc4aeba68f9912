// The keyboard: a tab stop for the calls, shortcuts, and the sheet that lists them.

import { el } from "./dom.js";
import { stored, store } from "./storage.js";

const CONTROLS = "button, a, summary, [tabindex]";

// shield keeps the controls of a call out of the tab order, unless the call is the
// one that the tab key reaches.
export function shield(card) {
  const out = card.tabIndex !== 0;
  for (const control of card.querySelectorAll(CONTROLS)) if ((control.tabIndex < 0) !== out) control.tabIndex = out ? -1 : 0;
}

// rover gives the calls in root one tab stop. It returns {go(by), keep()}: go
// moves the focus by a number of calls, and keep makes sure that there is a
// tab stop after calls came, left or were hidden.
export function rover(root) {
  let current = null;

  const cards = () => [...root.querySelectorAll(".card")].filter((c) => c.checkVisibility({ contentVisibilityAuto: false }));

  function choose(card) {
    if (card === current) return;
    const before = current;
    current = card;
    if (before) before.tabIndex = -1, shield(before);
    if (card) card.tabIndex = 0, shield(card);
  }

  function go(by) {
    const all = cards();
    if (all.length === 0) return;
    const at = all.indexOf(current);
    const inside = at >= 0 && current.contains(document.activeElement);
    const to = inside ? at + by : by < 0 ? all.length : Math.max(at, 0);
    choose(all[Math.min(Math.max(to, 0), all.length - 1)]);
    current.focus();
  }

  root.addEventListener("focusin", (e) => choose(e.target.closest(".card") ?? current));
  root.addEventListener("keydown", (e) => {
    const by = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[e.key];
    if (by === undefined || !e.target.classList.contains("card") || e.altKey || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    go(by);
  });

  return {
    go,
    keep() {
      if (current?.isConnected && !current.hidden) return;
      choose(root.querySelector(".card:not([hidden])"));
    },
  };
}

// shortcuts listens to keys. list has rows [key, text, action]; an action returns
// false if it does not apply, and rows without one are only listed. The sheet shows
// the list, and turns the keys off and on: speech input types letters too.
export function shortcuts(list) {
  const byKey = new Map(list.map(([key, , action]) => [key, action]));
  let on = stored("keys", "on") !== "off";

  addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.altKey || e.ctrlKey || e.metaKey || typing(e.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const action = on || e.key === "?" || e.key === "Escape" ? byKey.get(e.key) : null;
    if (action && action(e) !== false) e.preventDefault();
  });

  let sheet = null;
  function make() {
    const box = el("input", { type: "checkbox", id: "keys-on", onchange() {
      on = box.checked;
      store("keys", on ? "on" : "off");
    } });
    const rows = list.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)]);
    const close = el("button", { type: "button", onclick: () => sheet.close() }, "Close");
    sheet = el("dialog", { id: "keys", "aria-labelledby": "keys-title" },
      el("h2", { id: "keys-title" }, "Keyboard"), el("dl", {}, ...rows),
      el("p", {}, box, el("label", { for: "keys-on" }, "Keys without Ctrl or Alt do this")), close);
    document.body.append(sheet);
  }
  return {
    open() {
      if (!sheet) make();
      sheet.querySelector("input").checked = on;
      sheet.showModal();
    },
  };
}

const typing = (node) => node instanceof HTMLElement && (node.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(node.tagName) && node.type !== "checkbox");

// The card of a call and the waterfall of a session in a page of one's own. Each has a shadow root:
// its style and that of the page do not mix. The variables of style.css, set on the host, change its colours.

import { createCard } from "./card.js";
import { el, SVG } from "./dom.js";
import { css, icons } from "./dist/look.js";
import { callsOf, runsOf } from "./select.js";
import { waterfall } from "./waterfall.js";

const TICK = 250; // ms between drawings while time passes

// HIDDEN is what needs the page, and what is not offered.
const HIDDEN = `.body > .link, .details > .copy, .copies [aria-label*="link"], [data-stop="false"] .stop-call, [data-answer="false"] .answer,
[data-edits="false"] .answer > .choices > :nth-child(n + 3) { display: none }`;

let sheet = null;

// showCard draws a call in host, and returns {update(call), close()}. session is its name. Each
// action returns a promise, and is optional:
//
//   stop(call)          stops the call
//   answer(call, body)  stores the answer of a person, {decision, args?, value?}; without edits, only to approve or deny
//   value(seq, part)    returns the whole "args" or "result" of an event, as text, if the event has only the beginning
export function showCard(host, call, { session = "", stop, answer, edits = true, value } = {}) {
  const stopping = new Set();
  const whole = (ref, seq, part, known) => (ref && value ? value(seq, part) : known);
  let drawers = null;
  const card = createCard(call, {
    stopping, answer, session: () => session,
    stopCall(one) {
      stopping.add(one.call);
      card.update();
      stop(one).catch(() => (stopping.delete(one.call), card.update()));
    },
    args: async ({ argsRef, args }) => whole(argsRef, argsRef?.seq, "args", args.text),
    result: async ({ outcome }) => whole(outcome?.ref, outcome?.seq, "result", outcome?.value),
    renderers: () => (drawers ??= import("./renderers.js").then(({ createRenderers }) => createRenderers(host.shadowRoot))),
    later: async () => ({ ...(await import("./answer.js")), ...(await import("./written.js")) }),
  });
  card.node.dataset.chosen = "true"; // all of it is shown
  card.node.style.setProperty("--card", "auto"); // in the height that it needs
  card.update();
  return { update: card.update, close: draw(host, card.node, card.tick, { stop: !!stop, answer: !!answer, edits }) };
}

// showWaterfall draws the calls of a state in host, and returns {update(state), close()}. choose(key) is called
// with the key of a call that is chosen.
export function showWaterfall(host, state, { choose = () => {} } = {}) {
  const node = el("section", { class: "wf", "aria-label": "Waterfall" });
  const flow = waterfall(node, { choose, zoomed() {} });
  const update = (next) => flow.show(callsOf(next), runsOf(next));
  const close = draw(host, node, flow.tick);
  update(state);
  return { update, close: () => (flow.close(), close()) };
}

// draw shows a node in the shadow root of host, and calls tick as time passes. It returns a function that ends both.
function draw(host, node, tick, offered = {}) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(css.replaceAll(":root", ":host") + HIDDEN);
  root.adoptedStyleSheets = [sheet];
  const around = el("div", {}, node);
  Object.assign(around.dataset, { stale: "false", ...offered });
  root.replaceChildren(sprite(), around);
  const timer = setInterval(() => tick(Date.now()), TICK);
  tick(Date.now());
  return () => {
    clearInterval(timer);
    root.replaceChildren();
  };
}

function sprite() {
  const make = (tag, attributes, ...children) => {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  return make("svg", { class: "sprite", "aria-hidden": "true" },
    ...Object.entries(icons).map(([id, shapes]) => make("symbol", { id, viewBox: "0 0 16 16" }, ...shapes.map(([tag, attributes]) => make(tag, attributes)))));
}

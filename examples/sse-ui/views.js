// The choice between cards and waterfall, and the way to a run or a call in them.

import { mark } from "./dom.js";
import { createCard } from "./card.js";
import { runsOf } from "./select.js";
import { stored, store } from "./storage.js";
import { splitter } from "./splitter.js";
import { waterfall } from "./waterfall.js";

const WIDE = "(min-width: 900px)"; // with space for both
const VIEWS = ["cards", "waterfall", "both"];

// views watches the radio buttons in chooser and draws the waterfall into root.
// main.dataset.view is the chosen view, which is remembered; body.dataset.beside tells
// the style sheet that the waterfall is beside the cards. Where only the
// waterfall is shown, the card of the chosen call is in inspector. changed() is
// called when the view was changed, pick(key) when a call was chosen, and moved()
// when the reader chose a view or a part of the time axis.
export function views({ main, chooser, root, pick, inspector, actions, choose, changed, moved }) {
  const flow = waterfall(root, { choose: chosen, zoomed: moved });
  root.after(splitter({
    name: "split", label: "Width of the waterfall", usual: 54, least: 25, most: 75, beside: true, size: () => main.clientWidth,
    apply: (share) => main.style.setProperty("--split", share + "%"),
  }));
  let last = null, now = 0, card = null, chosenKey = "";

  // hide hides the waterfall of an empty session, or if it is not chosen.
  function hide(empty) {
    root.hidden = empty || main.dataset.view === "cards";
    mark(document.body, "beside", String((!root.hidden || actions.session() !== "") && main.dataset.view === "both"));
  }

  function set(view) {
    if (!VIEWS.includes(view)) return;
    main.dataset.view = view;
    hide(!last?.[1].length);
    for (const radio of chooser.querySelectorAll("input")) radio.checked = radio.value === view;
    if (last) show(...last);
    inspect(chosenKey);
    changed();
  }

  function clearCard() {
    card = null;
    inspector.replaceChildren();
  }

  function show(calls, runs) {
    last = [calls, runs];
    hide(runs.length === 0);
    if (main.dataset.view === "cards") return;
    flow.show(calls, runs);
    const call = card && calls.find((c) => c.call === card.key);
    if (call) card.update(call);
  }

  function chosen(key, focus) {
    inspect(key);
    choose(key, focus);
  }

  // inspect shows all of the card of a call.
  function inspect(key) {
    chosenKey = key;
    pick(key);
    if (main.dataset.view !== "waterfall") return clearCard();
    const call = last?.[0].find((c) => c.call === key);
    if (!call) return;
    card = { key, ...createCard(call, actions) };
    card.node.tabIndex = -1;
    mark(card.node, "chosen", "true");
    card.update();
    card.tick(now);
    inspector.replaceChildren(card.node);
  }

  chooser.addEventListener("change", (e) => {
    set(e.target.value);
    store("view", e.target.value);
    moved();
  });
  queueMicrotask(() => set(stored("view", matchMedia(WIDE).matches ? "both" : "cards"))); // after the caller has the returned object

  return {
    show, set,
    get name() { return main.dataset.view; },
    get zoom() { return flow.zoom; },
    zoomTo: flow.zoomTo,
    get chosen() { return chosenKey; },
    next() {
      const view = VIEWS[(VIEWS.indexOf(main.dataset.view) + 1) % VIEWS.length];
      set(view);
      store("view", view);
      moved();
    },
    tick(at) {
      now = at;
      if (main.dataset.view === "cards") return;
      flow.tick(now);
      card?.tick(now);
    },
    select(key) {
      inspect(key);
      flow.select(key);
    },
    selectRun: flow.selectRun,
    clear() {
      last = null, chosenKey = "";
      clearCard();
      hide(true);
      flow.clear();
    },
  };
}

// guide returns {card(key, focus), arrive(place, state), show(node)}. flow is the choice of the
// view, reveal(key) shows the card of a call and moves the focus there, and note(text)
// tells the reader what is missing.
export function guide({ flow, timeline, inspector, reveal, note }) {
  return {
    // card shows the card of a call that was chosen in the waterfall.
    card(key, focus) {
      const alone = flow.name === "waterfall";
      const card = cardIn(alone ? inspector : timeline, key);
      if (!card) return;
      unfold(card);
      card.scrollIntoView({ block: "nearest" });
      if (focus && !alone) reveal(key);
      else if (focus) card.focus({ preventScroll: true });
      flash(card);
    },
    // arrive shows a place. It returns false if the state does not have it.
    arrive(place, state) {
      const known = place.call ? state.calls.has(place.call) : runsOf(state).some((r) => r.id === place.run);
      if (!known) return false;
      if (place.call) flow.select(place.call);
      else flow.selectRun(place.run);
      if (flow.name === "waterfall") return true;
      const node = place.call ? cardIn(timeline, place.call) : timeline.querySelector('.run[data-run="' + CSS.escape(place.run) + '"]');
      if (place.call && node) reveal(place.call);
      else node?.scrollIntoView({ block: "start" });
      if (node) flash(node);
      return true;
    },
    // show moves to the element of a message.
    show(node) {
      if (!node) return;
      unfold(node);
      node.hidden = false;
      node.tabIndex = -1;
      node.focus({ preventScroll: true });
      node.scrollIntoView({ block: "center" });
      flash(node);
    },
    missing: (place) => note(place.call ? "The call " + place.call + " is not in this session." : "The run " + place.run + " is not in this session."),
  };
}

const cardIn = (list, key) => list.querySelector('.card[data-call="' + CSS.escape(key) + '"]');

// unfold opens what an element is in.
function unfold(node) {
  for (let d = node.closest("details:not([open])"); d; d = d.parentElement.closest("details:not([open])")) d.open = true;
}

function flash(node) {
  node.classList.remove("flash");
  node.getBoundingClientRect(); // restarts the animation
  node.classList.add("flash");
}

// The choice between cards and waterfall. The waterfall is loaded when it is
// first shown.

import { el } from "./dom.js";
import { stored, store } from "./storage.js";

const VIEWS = ["cards", "waterfall", "both"];

// views watches the radio buttons in chooser and draws the waterfall into root.
// main.dataset.view is the chosen view, which is remembered. The result has the
// functions of the waterfall; until it is loaded they only keep their arguments.
export function views({ main, chooser, root, choose }) {
  let flow = null, loading = null, last = null, wanted = "";

  function load() {
    loading ??= Promise.all([import("./waterfall.js"), style("waterfall.css")]).then(([module]) => {
      flow = module.waterfall(root, { choose });
      if (last) flow.show(...last);
      if (wanted) flow.select(wanted);
    });
  }

  function set(view) {
    if (!VIEWS.includes(view)) return;
    main.dataset.view = view;
    root.hidden = view === "cards";
    for (const radio of chooser.querySelectorAll("input")) radio.checked = radio.value === view;
    if (view !== "cards") load();
  }

  chooser.addEventListener("change", (e) => {
    set(e.target.value);
    store("view", e.target.value);
  });
  set(stored("view", "both"));

  return {
    set,
    shown: () => main.dataset.view !== "cards",
    show(calls, runs) {
      last = [calls, runs];
      if (main.dataset.view !== "cards") flow?.show(calls, runs);
    },
    tick(now) { if (main.dataset.view !== "cards") flow?.tick(now); },
    select(key) {
      wanted = key;
      flow?.select(key);
    },
    clear() {
      last = null, wanted = "";
      flow?.clear();
    },
  };
}

function style(href) {
  return new Promise((resolve, reject) => {
    document.head.append(el("link", { rel: "stylesheet", href, onload: resolve, onerror: reject }));
  });
}

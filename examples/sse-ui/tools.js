// What a person does with the calls of the page: search, walk by keyboard, copy,
// and look at the frames.

import { searchBar } from "./search.js";
import { rover, shortcuts } from "./keys.js";
import { recorder } from "./frames.js";
import { copied } from "./copies.js";
import { complaint } from "./sse.js";
import { linkTo } from "./place.js";

// tools returns the methods that the page calls. page has the elements timeline, bar
// and raw, and state(), session(), now(), redraw(), stopCall(call), latest(),
// changed(), nextView(), replay(), theme(), note(text) and link(seq, what).
export function tools(page) {
  const { timeline, raw } = page;
  const frames = recorder();
  let version = 0; // of the search
  const search = searchBar(page.bar, { changed: (byReader) => (version++, byReader && page.changed(), page.redraw()) });
  const roving = rover(timeline);
  let view = null; // of the frames, once it is loaded

  const cardOf = (key) => timeline.querySelector(`.card[data-call="${CSS.escape(key)}"]`);
  const focused = () => document.activeElement.closest?.(".card") ?? null;
  const callOf = (card) => card && page.state().calls.get(card.dataset.call);

  // reveal shows the card of a call and moves the focus to it.
  function reveal(key) {
    const card = cardOf(key);
    if (!card) return page.note("The call " + key + " is not on the page.");
    if (card.hidden) search.clear();
    for (let d = card.closest("details:not([open])"); d; d = d.parentElement.closest("details:not([open])")) d.open = true;
    card.hidden = false;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "center" });
  }

  async function showFrames(call = null) {
    if (!view) {
      const { rawView } = await import("./later.js");
      view ??= rawView(raw, {
        frames, reveal, session: page.session, call: (key) => page.state().calls.get(key), counts: () => page.state().counts,
        closed: (only) => (only && cardOf(only.call) ? reveal(only.call) : page.opener.focus()),
      });
    }
    view.show(call);
  }

  // result returns the whole result of a call.
  async function result(call) {
    const { outcome } = call;
    return outcome?.ref ? JSON.parse(await read(page.link(outcome.seq, "result"))) : outcome?.value;
  }

  const address = (call) => location.origin + location.pathname + linkTo({ session: page.session(), run: call.run, call: call.call });

  async function copyJSON(card) {
    const call = callOf(card);
    if (!call || !navigator.clipboard) return;
    page.note((await copied(async () => (await import("./later.js")).jsonOf(call, await result(call)))) === "copied" ? "The call was copied as JSON." : "The call was not copied.");
  }

  const onCard = (act) => () => {
    const card = focused();
    return card ? act(card) : false;
  };
  const keys = shortcuts([
    ["?", "show this sheet", () => keys.open()],
    ["/", "search the calls", () => search.focus()],
    ["j", "next call; ↓ on a call", () => roving.go(1)],
    ["k", "previous call; ↑ on a call", () => roving.go(-1)],
    ["d", "details of the call", onCard((card) => toggleDetails(card))],
    ["s", "stop the call", onCard((card) => card.querySelector(".stop-call")?.click())],
    ["c", "copy the call as JSON", onCard((card) => void copyJSON(card))],
    ["f", "frames of the call, or all of them", () => void toggleFrames()],
    ["l", "the latest", () => page.latest()],
    ["v", "cards, waterfall or both", () => page.nextView()],
    ["r", "replay the session", () => page.replay()],
    ["t", "theme", () => page.theme()],
    ["Escape", "close the frames, or end the search", () => leave()],
    ["↑ ↓ ← →", "in the waterfall: rows; with Shift: earlier or later"],
    ["+ − 0", "in the waterfall: zoom in, out, all of it"],
    ["Space", "in the waterfall or the replay: pause or continue"],
    ["Enter", "in the waterfall: the card of the call"],
  ]);

  function toggleFrames() {
    const call = callOf(focused());
    if (view && !raw.hidden && !call) view.hide();
    else showFrames(call ?? null);
  }

  function leave() {
    if (view && !raw.hidden) return view.hide();
    return search.active() ? search.clear() : false;
  }

  return {
    reveal, result, address, frames: showFrames, help: keys.open,
    args: (call) => (call.argsRef ? read(page.link(call.argsRef.seq, "args")) : Promise.resolve(call.args.text)),
    version: () => version,
    search,
    // found returns the calls that the search shows.
    found: (calls, now) => (search.active() ? calls.filter((call) => search.shows(call, now)) : calls),
    receive: (frame) => frames.add(frame, Date.now()),
    draw() {
      search.draw(page.state(), timeline, page.now());
      roving.keep();
      view?.draw();
    },
    clear() {
      frames.clear();
      view?.clear();
    },
  };
}

function toggleDetails(card) {
  const details = card.querySelector("details.details");
  details.open = !details.open;
}

async function read(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(await complaint(response));
  return response.text();
}

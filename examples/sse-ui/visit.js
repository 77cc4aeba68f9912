// Going to a run or a call: from the waterfall, and from the address of the page.

import { runsOf } from "./select.js";

// guide returns {card(key, focus), arrive(place, state), show(node)}. flow is the choice of the
// view, reveal(key) shows the card of a call and moves the focus there, and note(text)
// tells the reader what is missing.
export function guide({ flow, timeline, inspector, reveal, note }) {
  const cardIn = (list, key) => list.querySelector('.card[data-call="' + CSS.escape(key) + '"]');

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

// unfold opens what an element is in.
function unfold(node) {
  for (let d = node.closest("details:not([open])"); d; d = d.parentElement.closest("details:not([open])")) d.open = true;
}

function flash(node) {
  node.classList.remove("flash");
  node.getBoundingClientRect(); // restarts the animation
  node.classList.add("flash");
}

// Stopping calls and runs: the request, and its state until an event confirms it.

import { $, mark, say } from "./dom.js";
import { complaint } from "./sse.js";

const UNCONFIRMED = 15_000; // ms until a stop can be requested again

// stopper returns the state of stops. page has the methods url(), of the interrupt of
// the session or "" if none is live, state(), touch(key), which draws a call again, and
// note(text).
export function stopper(page) {
  const button = $("stop"), stopping = new Set();
  let asked = null; // {run, at} of the stop of the run
  let armed = false; // the next click stops several calls

  async function interrupt(body, to) {
    const response = await fetch(page.url(to), {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(to ? {} : { reason: "user", ...body }),
    });
    if (!response.ok) throw new Error(await complaint(response));
  }

  async function stopAll() {
    if (button.getAttribute("aria-disabled") === "true") return;
    const { run, timeline, open, held } = page.state();
    const to = held && !run && !open.length ? "/resume" : "";
    if (open.length > 1 && !armed) return arm(true);
    arm(false);
    asked = to ? null : { run, at: Date.now() };
    draw();
    const id = timeline.get(run)?.id;
    await interrupt(id ? { run: id } : {}, to).catch((err) => {
      asked = null;
      page.note("Nothing was " + (to ? "resumed: " : "stopped: ") + err.message);
    });
    draw();
  }

  function arm(on) {
    armed = on;
    draw();
  }

  async function stopCall(call) {
    stopping.add(call.call);
    page.touch(call.call);
    try {
      await interrupt({ calls: [call.call] });
      setTimeout(forgive, UNCONFIRMED, call.call);
    } catch (err) {
      forgive(call.call);
      page.note((call.tool || "The call") + " was not stopped: " + err.message);
    }
  }

  function forgive(key) {
    if (stopping.delete(key)) page.touch(key);
  }

  function draw() {
    const { open, run, timeline, held } = page.state();
    const going = open.length > 0 || run !== "", can = going || held > 0;
    if (asked && (!going || timeline.get(asked.run)?.status)) asked = null;
    const late = asked && Date.now() - asked.at > UNCONFIRMED;
    // A button that has the focus stays until it loses it.
    button.hidden = (!can && document.activeElement !== button) || page.url() === "";
    button.setAttribute("aria-disabled", String(!can || (!!asked && !late)));
    mark(button, "asked", String(!!asked));
    armed &&= open.length > 1;
    mark(button, "armed", String(armed));
    say($("stop-text"), armed ? "Cancel " + open.length + " calls? They cannot go on after it" : !can ? "Stopped" : !going ? "Resume" : late ? "Not confirmed, stop again" : asked ? "Stop requested" : "Stop");
  }

  button.addEventListener("click", stopAll);
  button.addEventListener("blur", () => arm(false));
  button.addEventListener("keydown", (e) => e.key === "Escape" && arm(false));

  return {
    stopping, // keys of the calls whose stop was requested
    stopCall, forgive, draw,
    ended(key) { stopping.delete(key); },
    tick() {
      if (asked) draw();
    },
    clear() {
      asked = null, armed = false;
      button.blur();
      stopping.clear();
    },
  };
}

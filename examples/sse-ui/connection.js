// The connection as the page shows it: its state, and the fault that the page cannot
// repair itself, with the remedy.

import { $, mark, say } from "./dom.js";
import { complaint } from "./sse.js";
import { plural } from "./words.js";

const LOST = 3_000; // ms without a connection before it is shown as a fault
const CONFIRMED = ["live", "catching-up", "idle", "ended", "file"];
const PILLS = {
  idle: "No session", connecting: "Connecting", "catching-up": "Catching up", live: "Live", ended: "Ended",
  file: "From a file", gone: "History gone", refused: "Refused", offline: "Offline",
};

// connectionView returns the view. page has the methods source(), the name of what is
// shown, seq(), the last sequence, changed(), alarm(text), note(text), retry(),
// reopen(fresh) and signedIn().
//
//   name              the state of the connection
//   stale, lost       whether the content is unconfirmed, and for how many ms
//   change(state)     shows another state of the stream
//   opened(body)      notes the part of the log with which the connection begins
//   lock()            asks for a token
//   draw(), tick()    draw the pill; tick only what depends on the time
export function connectionView(page) {
  const pill = $("pill"), main = $("main");
  let now = { name: "idle" }, timer = 0;
  let locked = false; // a token is required
  let since = 0; // the time at which the state became unconfirmed, in ms
  let from = 0, last = 0; // the part of the log with which this connection began

  function change(next) {
    const { name: before, attempt, why } = now; // of the current fault, until the connection is back
    if (next.name === "connecting") next = { attempt, why, ...next };
    now = next.name === "reconnecting" && !navigator.onLine ? { ...next, name: "offline" } : next;
    if (next.status === 401) locked = true;
    if (CONFIRMED.includes(now.name)) since = 0;
    else since ||= Date.now();
    if (next.name === "live" || next.name === "idle") clearTimeout(timer);
    else if (before === "live") timer = setTimeout(page.alarm, LOST, "Connection lost.");
    drawAll();
    page.changed();
  }

  function drawAll() {
    mark(pill, "connection", now.name);
    mark(pill, "shared", String(now.shared > 1));
    mark(main, "stale", String(!CONFIRMED.includes(now.name)));
    $("retry").hidden = now.name !== "reconnecting" && now.name !== "offline";
    draw();
    const [title, text, action] = trouble();
    $("trouble").hidden = title === "";
    say($("trouble-title"), title);
    say($("trouble-text"), text);
    say($("trouble-action"), action);
    $("login").hidden = !locked;
  }

  function draw() {
    const [text, title] = pillText();
    say($("pill-text"), text);
    if ($("pill-text").title !== title) $("pill-text").title = title;
  }

  function pillText() {
    const { name, shared } = now;
    if (page.source() === "replay") return ["Replay", ""];
    if (name === "catching-up") return [PILLS[name] + caughtUp(), ""];
    if (name === "live" && shared > 1) return ["Live, shared", "One connection serves " + shared + " pages of this browser."];
    if (name !== "reconnecting") return [PILLS[name], ""];
    const s = Math.max(0, Math.ceil((now.at - Date.now()) / 1_000));
    return ["Reconnecting" + (s > 0 ? " in " + s + " s" : ""), "Attempt " + now.attempt + ": " + now.why];
  }

  function caughtUp() {
    const seq = page.seq();
    return last > from && seq > from ? " " + Math.min(99, Math.floor((100 * (seq - from)) / (last - from))) + " %" : "";
  }

  // trouble returns the title and the text of a fault, and the text of the button.
  function trouble() {
    const { name, status, why, attempt } = now;
    if (locked) return ["A token is needed", "Sign in with the token of this server, or with a JSON Web Token.", ""];
    if (name === "gone") return ["Part of the history is gone", "The events after the last one shown here are no longer stored: this view would have a hole.", "Start from what is left"];
    if (name === "refused" && status === 403) return ["You may not read this session", sentence(why), "Try again"];
    if (name === "refused") return ["The stream was refused", sentence(why), "Start over"];
    if (name === "offline") return ["You are offline", "The page shows the last known state, and connects again when the network is back.", ""];
    if (attempt >= 3 && (name === "reconnecting" || name === "connecting")) return ["The server cannot be reached", "Tried " + plural(attempt, "time") + ": " + why + ". The page tries again, and shows the last known state.", ""];
    return ["", "", ""];
  }

  // login exchanges the token for a cookie, which all later requests carry.
  async function login(token) {
    try {
      const response = await fetch("/v1/login", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }),
      });
      if (!response.ok) throw new Error(await complaint(response));
    } catch (err) {
      return page.note("Not signed in: " + err.message);
    }
    $("token").value = "";
    locked = false;
    drawAll();
    page.signedIn();
  }

  $("login").addEventListener("submit", (e) => {
    e.preventDefault();
    login($("token").value);
  });
  // Only a forbidden request can be repeated unchanged.
  $("trouble-action").addEventListener("click", () => page.reopen(now.status !== 403));
  $("retry").addEventListener("click", page.retry);
  addEventListener("online", page.retry);
  addEventListener("offline", () => change({ ...now }));

  return {
    get name() { return now.name; },
    get lost() { return since && Date.now() - since; },
    get stale() { return !CONFIRMED.includes(now.name); },
    change, draw,
    opened(body) { from = Math.max(body.from, body.first) || 0, last = body.last || 0; },
    lock() {
      if (!locked) locked = true, drawAll();
    },
    tick() {
      if (now.name === "reconnecting" || now.name === "catching-up") draw();
    },
  };
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

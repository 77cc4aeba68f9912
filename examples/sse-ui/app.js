// The page: connects the stream, the state and the views.

import { subscribe, complaint } from "./sse.js";
import { sharing } from "./share.js";
import { terminal } from "./reduce.js";
import { createStore, eventOf } from "./store.js";
import { changes } from "./table.js";
import { clock } from "./clock.js";
import { timeline } from "./timeline.js";
import { announcer } from "./announce.js";
import { sessionList, sessionOf, hashOf, curl } from "./sessions.js";
import { say, mark } from "./dom.js";
import { bytes, plural, tally } from "./words.js";

const FRAME = 8; // ms of drawing per animation frame
const TICK = 100; // ms between updates of the timers
const NEAR = 120; // px from the end of the page that count as the end
const GESTURE = 1_000; // ms after a gesture in which scrolling is attributed to it
const UNCONFIRMED = 15_000; // ms until a stop can be requested again
const LOST = 3_000; // ms without a connection before it is shown as a fault

const $ = (id) => document.getElementById(id);
const main = $("main"), pill = $("pill"), stop = $("stop");
const voice = announcer($("polite"), $("assertive"));
const stopping = new Set(); // keys of the calls whose stop was requested
const store = createStore();
const streams = sharing({ address, open: (options) => reader(options) });
const view = timeline($("timeline"), {
  stopping, stopCall,
  link: (seq, what) => base() + "/events/" + seq + "/" + what,
});

let session = "", state = store.getSnapshot(), time = clock(), stream = null;
let connection = { name: "idle" }, news = false, traffic = { bytes: 0, unreadable: 0 };
let history = { from: 0, last: 0 }; // the part of the log with which this connection began
let locked = false; // a token is required
let following = true, touched = 0, lastY = 0;
let drawing = 0, stopAsked = null, lostTimer = 0;

const base = () => "/v1/sessions/" + encodeURIComponent(session);

// ---- the stream

let reader = subscribe;

// setReader selects the EventSource of the browser, or fetch, for streams that are
// opened from now on.
async function setReader(native) {
  reader = (native ? await import("./eventsource.js") : { subscribe }).subscribe;
  say($("reader"), native ? "Read with fetch" : "Read with EventSource");
  mark($("reader"), "native", String(native));
}

// address returns the URL of the stream of some sessions.
function address(sessions) {
  const names = sessions.map(encodeURIComponent);
  return names.length === 1 ? "/v1/sessions/" + names[0] + "/events" : "/v1/events?session=" + names.join("&session=");
}

function open(resume = "") {
  stream?.close();
  const mine = (stream = streams.subscribe({
    session, url: base() + "/events", lastEventId: resume,
    // A stream that was closed can still deliver a frame.
    onFrame: (frame) => mine === stream && receive(frame),
    onState: (s) => (mine ?? stream) === stream && connected(s),
    onBytes: (n) => (traffic.bytes += n),
  }));
}

function receive(frame) {
  let event;
  try {
    event = eventOf(frame);
  } catch {
    traffic.unreadable++;
    return;
  }
  if (!event) return control(frame.event, JSON.parse(frame.data));
  const live = connection.name === "live", before = state;
  if (live) time.hear(Date.parse(event.timestamp), Date.now());
  store.push(event, Number(frame.id) || 0, frame.data.length);
  state = store.getSnapshot();
  for (const [key, call] of changes(before.calls, state.calls).set) {
    voice.heard(call, state.tally.open, !live || !following);
    if (terminal(call.status)) stopping.delete(key);
  }
  // The stop came too late; its call shows the outcome.
  if (event.type === "unmatched") for (const name of event.target?.calls ?? []) forgive(name);
  if (live && event.type === "run_finished" && event.status === "error") voice.alarm("The run failed.");
  news = true;
  redraw();
}

function control(event, body) {
  if (event !== "stream.open") return;
  time.hear(Date.parse(body.now), Date.now());
  history = { from: Math.max(body.from, body.first) || 0, last: body.last || 0 };
}

function connected(next) {
  const before = connection.name;
  const { attempt, why } = connection; // of the current fault, until the connection is back
  if (next.name === "connecting") next = { attempt, why, ...next };
  connection = next.name === "reconnecting" && !navigator.onLine ? { ...next, name: "offline" } : next;
  if (next.status === 401) locked = true;
  if (next.name === "live" || next.name === "idle") clearTimeout(lostTimer);
  else if (before === "live") lostTimer = setTimeout(voice.alarm, LOST, "Connection lost.");
  drawConnection();
  redraw();
}

// ---- drawing

function redraw() {
  drawing ||= requestAnimationFrame(draw);
}

function draw() {
  drawing = 0;
  const done = view.draw(state, performance.now() + FRAME);
  drawSummary();
  drawStop();
  view.tick(state.open, time.now(Date.now()));
  if (!following && news) $("latest").hidden = false;
  news = false;
  if (!done) return redraw();
  toEnd();
}

// toEnd scrolls to the newest item when all items are drawn.
function toEnd() {
  if (following && !drawing && connection.name !== "catching-up") scrollTo(0, document.documentElement.scrollHeight);
}

function drawSummary() {
  const empty = state.timeline.size === 0;
  const words = tally(state.tally);
  say($("summary"), words.length === 0 ? "" : plural(state.tally.calls, "call") + ": " + words.join(", "));
  document.title = (state.tally.open > 0 ? "(" + state.tally.open + ") " : "") + (session ? session + " · " : "") + "streamer";
  $("empty").hidden = session === "" || !empty || !["live", "catching-up", "ended"].includes(connection.name);
  $("landing").hidden = session !== "";
  $("loading").hidden = session === "" || !empty || connection.name !== "connecting";
  if ($("numbers").open) drawNumbers();
}

const PILLS = {
  idle: "No session", connecting: "Connecting", "catching-up": "Catching up", live: "Live", ended: "Ended",
  gone: "History gone", refused: "Refused", offline: "Offline",
};

function drawConnection() {
  const { name } = connection;
  mark(pill, "connection", name);
  mark(pill, "shared", String(connection.shared > 1));
  mark(main, "stale", String(!["live", "catching-up", "idle", "ended"].includes(name)));
  $("retry").hidden = name !== "reconnecting" && name !== "offline";
  drawCountdown();
  const [title, text, action] = trouble();
  $("trouble").hidden = title === "";
  say($("trouble-title"), title);
  say($("trouble-text"), text);
  say($("trouble-action"), action);
  $("login").hidden = !locked;
}

function drawCountdown() {
  if (connection.name === "catching-up") return say($("pill-text"), PILLS["catching-up"] + caughtUp());
  if (connection.name !== "reconnecting") {
    const shared = connection.name === "live" && connection.shared > 1;
    $("pill-text").title = shared ? "One connection serves " + connection.shared + " pages of this browser." : "";
    return say($("pill-text"), PILLS[connection.name] + (shared ? ", shared" : ""));
  }
  const s = Math.max(0, Math.ceil((connection.at - Date.now()) / 1_000));
  say($("pill-text"), s === 0 ? "Reconnecting" : "Reconnecting in " + s + " s");
  $("pill-text").title = "Attempt " + connection.attempt + ": " + connection.why;
}

function caughtUp() {
  const { from, last } = history;
  return last > from && state.seq > from ? " " + Math.min(99, Math.floor((100 * (state.seq - from)) / (last - from))) + " %" : "";
}

// trouble shows a fault that the page cannot repair itself, and the remedy.
function trouble() {
  const { name, status, why } = connection;
  if (locked) return ["A token is needed", "This server shows its sessions to those who know its token.", ""];
  if (name === "gone") return ["Part of the history is gone", "The events after the last one shown here are no longer stored, so this view cannot be continued without a hole.", "Start from what is left"];
  if (name === "refused" && status === 403) return ["You may not read this session", sentence(why), "Try again"];
  if (name === "refused") return ["The stream was refused", sentence(why), "Start over"];
  if (name === "offline") return ["You are offline", "What is shown is the last that is known. The stream goes on by itself when the network is back.", ""];
  if (connection.attempt >= 3 && (name === "reconnecting" || name === "connecting")) return ["The server cannot be reached", "Tried " + plural(connection.attempt, "time") + ", and it goes on: " + why + ". What is shown is the last that is known.", ""];
  return ["", "", ""];
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

function drawNumbers() {
  const c = state.counts;
  const rows = [
    [c.events, "events"], [bytes(traffic.bytes), "received"], [state.seq, "last sequence"], [c.duplicates, "duplicates"],
    [c.gaps, "holes"], [c.afterEnd, "after their end"], [c.unknown, "of unknown type"], [traffic.unreadable, "unreadable"],
  ];
  say($("numbers-text"), rows.map(([n, what]) => n + " " + what).join(" · "));
}

function tick() {
  if (connection.name === "reconnecting" || connection.name === "catching-up") drawCountdown();
  if (document.hidden) return;
  // Timers do not advance while the state is unconfirmed.
  if (main.dataset.stale !== "true") view.tick(state.open, time.now(Date.now()));
  if (stopAsked) drawStop();
}

// ---- stopping

async function interrupt(body) {
  const response = await fetch(base() + "/interrupt", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ reason: "user", ...body }),
  });
  if (!response.ok) throw new Error(await complaint(response));
}

async function stopAll() {
  const run = state.timeline.get(state.run);
  stopAsked = { run: state.run, at: Date.now() };
  drawStop();
  try {
    await interrupt(run?.id ? { run: run.id } : {});
  } catch (err) {
    stopAsked = null;
    complain("Nothing was stopped: " + err.message);
  }
  drawStop();
}

async function stopCall(call) {
  stopping.add(call.call);
  view.touched.add(call.call);
  redraw();
  try {
    await interrupt({ calls: [call.call] });
    setTimeout(forgive, UNCONFIRMED, call.call);
  } catch (err) {
    forgive(call.call);
    complain((call.tool || "The call") + " was not stopped: " + err.message);
  }
}

function forgive(key) {
  if (!stopping.delete(key)) return;
  view.touched.add(key);
  redraw();
}

function drawStop() {
  const going = state.open.length > 0 || state.run !== "";
  if (stopAsked && (!going || state.timeline.get(stopAsked.run)?.status)) stopAsked = null;
  const late = stopAsked && Date.now() - stopAsked.at > UNCONFIRMED;
  stop.hidden = !going || session === "";
  stop.disabled = !!stopAsked && !late;
  mark(stop, "asked", String(!!stopAsked));
  say($("stop-text"), late ? "Not confirmed, stop again" : stopAsked ? "Stop requested" : "Stop");
}

// ---- the token

function lock(closed) {
  if (locked === closed) return;
  locked = closed;
  drawConnection();
}

// login exchanges the token for a cookie, which all later requests carry.
async function login(token) {
  try {
    const response = await fetch("/v1/login", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }),
    });
    if (!response.ok) throw new Error(await complaint(response));
  } catch (err) {
    return complain("Not signed in: " + err.message);
  }
  $("token").value = "";
  lock(false);
  list.look();
  if (session !== "") open(state.seq ? String(state.seq) : "");
}

let toastTimer = 0;
function complain(text) {
  say($("toast"), text);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => say($("toast"), ""), 8_000);
}

// ---- sessions

function choose() {
  const next = sessionOf(location.hash);
  if ($("sessions").matches(":popover-open")) $("sessions").hidePopover();
  if (next === session && stream) return;
  stream?.close();
  stream = null, session = next;
  reset();
  say($("session-name"), session || "Choose a session");
  say($("curl"), curl(session || "demo"));
  connected({ name: "idle" });
  if (session !== "") open();
  list.look();
}

function reset() {
  store.reset();
  state = store.getSnapshot(), time = clock(), stopAsked = null, following = true;
  traffic = { bytes: 0, unreadable: 0 };
  stopping.clear();
  view.clear();
  voice.clear();
  $("latest").hidden = true;
}

const list = sessionList([$("picker-list"), $("landing-list")], {
  watched: () => session === "" || $("sessions").matches(":popover-open"),
  current: () => session,
  onList(sessions, status) {
    if (status === 401) lock(true);
    say($("landing-text"), sessions === null ? "The list of sessions cannot be had just now."
      : sessions.length === 0 ? "Nothing has happened yet." : "");
    $("landing-curl").hidden = sessions === null || sessions.length > 0;
    $("picker-none").hidden = sessions !== null && sessions.length > 0;
  },
});

// ---- wiring

const THEMES = ["auto", "light", "dark"];
function theme(next) {
  const root = document.documentElement;
  if (next === "auto") delete root.dataset.theme;
  else if (next) root.dataset.theme = next;
  const now = root.dataset.theme ?? "auto";
  say($("theme-text"), "Theme: " + now);
  if (next) remember("theme", next);
  return now;
}

// remember stores a choice. Where storage is forbidden, the choice applies until the
// page is left.
function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Nothing is stored.
  }
}

function remembered(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

$("theme").addEventListener("click", () => theme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]));
$("retry").addEventListener("click", () => stream?.retryNow());
stop.addEventListener("click", stopAll);
$("latest").addEventListener("click", () => {
  following = true;
  $("latest").hidden = true;
  redraw();
});
$("trouble-action").addEventListener("click", () => {
  // Only a forbidden request can be repeated unchanged.
  if (connection.status !== 403) reset();
  open(state.seq ? String(state.seq) : "");
});
$("numbers").addEventListener("toggle", drawSummary);
$("reader").addEventListener("click", async () => {
  const native = $("reader").dataset.native !== "true";
  remember("reader", native ? "eventsource" : "fetch");
  await setReader(native);
  streams.restart();
  if (session !== "") open(state.seq ? String(state.seq) : "");
});
$("sessions").addEventListener("toggle", (e) => e.newState === "open" && list.look());
$("other").addEventListener("submit", (e) => {
  e.preventDefault();
  const name = $("other-name").value.trim();
  if (name) location.hash = hashOf(name);
});
$("login").addEventListener("submit", (e) => {
  e.preventDefault();
  login($("token").value);
});
addEventListener("hashchange", choose);
addEventListener("online", () => stream?.retryNow());
addEventListener("offline", () => connected({ ...connection }));
// Only scrolling by a gesture ends the following, because drawing moves the page too.
for (const gesture of ["wheel", "touchmove", "keydown", "pointerdown"]) {
  addEventListener(gesture, () => (touched = performance.now()), { passive: true });
}
addEventListener("scroll", () => {
  const root = document.documentElement;
  const near = root.scrollHeight - innerHeight - scrollY < NEAR;
  if (near) $("latest").hidden = true;
  if (near || (scrollY < lastY && performance.now() - touched < GESTURE)) following = near;
  lastY = scrollY;
}, { passive: true });
new ResizeObserver(toEnd).observe($("timeline"));
setInterval(tick, TICK);
theme();
await setReader(remembered("reader") === "eventsource");
choose();

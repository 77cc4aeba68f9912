// The page: connects the stream, the state and the views.

import { complaint } from "./sse.js";
import { readerSwitch } from "./reader.js";
import { store as remember } from "./storage.js";
import { sharing } from "./share.js";
import { terminal } from "./reduce.js";
import { createStore, eventOf } from "./store.js";
import { changes } from "./table.js";
import { clock } from "./clock.js";
import { timeline } from "./timeline.js";
import { announcer } from "./announce.js";
import { sessionList, hashOf, curl } from "./sessions.js";
import { placeOf, linkTo } from "./place.js";
import { stage } from "./stage.js";
import { guide } from "./visit.js";
import { views } from "./views.js";
import { callsOf, runsOf } from "./select.js";
import { FILE, opener, download } from "./open.js";
import { tools } from "./tools.js";
import { say, mark } from "./dom.js";
import { bytes, plural, tally, visible } from "./words.js";

const FRAME = 8; // ms of drawing per animation frame
const TICK = 100; // ms between updates of the timers
const NEAR = 120; // px from the end of the page that count as the end
const GESTURE = 1_000; // ms after a gesture in which scrolling is attributed to it
const UNCONFIRMED = 15_000; // ms until a stop can be requested again
const roomy = matchMedia("(min-width: 721px) and (min-height: 600px)"); // as in style.css
const LOST = 3_000; // ms without a connection before it is shown as a fault

const $ = (id) => document.getElementById(id);
const main = $("main"), pill = $("pill"), stop = $("stop");
const voice = announcer($("polite"), $("assertive"));
const stopping = new Set(); // keys of the calls whose stop was requested
const store = createStore();
const reader = readerSwitch($("reader"), restart);
const streams = sharing({ address, open: reader.open });
const link = (seq, what) => base() + "/events/" + seq + "/" + what;
const kit = tools({
  timeline: $("timeline"), bar: $("search"), raw: $("raw"), opener: $("raw-open"),
  state: () => look.state(state), session: () => session, now: () => look.now(time.now(Date.now())), redraw, latest, link, note: complain, theme: nextTheme,
  nextView: () => flow.next(), replay: () => $("replay").click(),
});
const actions = { stopping, stopCall, session: () => session, result: kit.result, args: kit.args, address: kit.address, frames: kit.frames, message };
const view = timeline($("timeline"), actions);
const look = stage($("scrubber"), { changed: redraw, left: (name) => name === "file" && (location.hash = "") });
const flow = views({ main, chooser: $("views"), root: $("waterfall"), inspector: $("inspector"), actions, choose: visit, changed: redraw });
const guided = guide({ flow, timeline: $("timeline"), inspector: $("inspector"), reveal: kit.reveal, note: complain });

let session = "", state = store.getSnapshot(), time = clock(), stream = null;
let connection = { name: "idle" }, news = false, traffic = { bytes: 0, unreadable: 0 };
let history = { from: 0, last: 0 }; // the part of the log with which this connection began
let locked = false; // a token is required
let following = true, touched = 0, lastY = 0;
let place = placeOf(""), wanted = false; // wanted: the place is not on the screen yet
let drawing = 0, grown = false, shown = null, searched = 0, stopAsked = null, lostTimer = 0;

const base = () => "/v1/sessions/" + encodeURIComponent(session);

// ---- the stream

// restart opens the streams again, where they stopped.
function restart() {
  streams.restart();
  if (session !== "") open(state.seq ? String(state.seq) : "");
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
    onComment: (data) => mine === stream && (kit.receive({ event: "", data, id: "" }), redraw()),
  }));
}

function receive(frame) {
  kit.receive(frame);
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
  look.push(event, Number(frame.id) || 0, frame.data.length);
  for (const [key, call] of changes(before.calls, state.calls).set) {
    voice.heard(call, state.tally.open, !live || !following || look.name !== "live");
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
  const now = look.now(time.now(Date.now())), seen = look.state(state);
  const done = flow.name === "waterfall" || view.draw(seen, performance.now() + FRAME);
  kit.draw();
  if (main.dataset.source !== look.name) mark(main, "source", look.name), drawCountdown();
  drawSummary(seen);
  drawStop();
  flow.tick(now);
  grown ||= shown !== seen;
  if (shown !== seen || kit.version() !== searched) flow.show(kit.found(callsOf(seen), now), runsOf(seen));
  searched = kit.version();
  shown = seen;
  view.tick(now);
  if (wanted && done) arrive(seen);
  if (!following && news) $("latest").hidden = false;
  news = false;
  if (!done) return redraw();
  if (grown) toEnd();
  grown = false;
}

// scroller returns the element that scrolls the conversation: the page, or beside
// the waterfall a part of it.
function scroller() {
  const beside = flow.name === "both" && !$("waterfall").hidden && roomy.matches;
  return beside ? $("scroll") : document.documentElement;
}

// toEnd scrolls to the newest item when all items are drawn.
function toEnd() {
  if (following && !drawing && connection.name !== "catching-up" && flow.name !== "waterfall") scroller().scrollTop = 1e9;
}

function drawSummary({ timeline, tally: counts } = look.state(state)) {
  const empty = timeline.size === 0, file = look.name === "file";
  const words = tally(counts);
  say($("summary"), words.length === 0 ? "" : plural(counts.calls, "call") + ": " + words.join(", "));
  const title = (counts.open > 0 ? "(" + counts.open + ") " : "") + (session ? session + " · " : "") + "streamer";
  if (document.title !== visible(title)) document.title = visible(title);
  $("tools").hidden = empty && look.name === "live";
  $("replay").hidden = look.name !== "live";
  $("empty").hidden = session === "" || !empty || !["live", "catching-up", "ended"].includes(connection.name);
  $("landing").hidden = session !== "" || file;
  $("loading").hidden = session === "" || !empty || connection.name !== "connecting";
  if ($("numbers").open) drawNumbers();
}

const PILLS = {
  idle: "No session", connecting: "Connecting", "catching-up": "Catching up", live: "Live", ended: "Ended",
  file: "From a file", gone: "History gone", refused: "Refused", offline: "Offline",
};

function drawConnection() {
  const { name } = connection;
  mark(pill, "connection", name);
  mark(pill, "shared", String(connection.shared > 1));
  mark(main, "stale", String(!["live", "catching-up", "idle", "ended", "file"].includes(name)));
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
  if (look.name === "replay") return say($("pill-text"), "Replay");
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
  if (main.dataset.stale !== "true" && look.name === "live") {
    const now = time.now(Date.now());
    view.tick(now);
    flow.tick(now);
  }
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
  if (stop.getAttribute("aria-disabled") === "true") return;
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
  // A button that has the focus stays until it loses it.
  const focused = document.activeElement === stop;
  stop.hidden = (!going && !focused) || session === "" || look.name !== "live";
  stop.setAttribute("aria-disabled", String(!going || (!!stopAsked && !late)));
  mark(stop, "asked", String(!!stopAsked));
  say($("stop-text"), !going ? "Stopped" : late ? "Not confirmed, stop again" : stopAsked ? "Stop requested" : "Stop");
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
  const next = placeOf(location.hash), opened = location.hash === FILE && files.opened;
  if ($("sessions").matches(":popover-open")) $("sessions").hidePopover();
  place = next, wanted = next.call !== "" || next.run !== "";
  if (wanted) following = false;
  if (next.session === session && stream && !opened) return redraw();
  stream?.close();
  stream = null, session = next.session;
  look.end();
  reset();
  say($("session-name"), session || opened?.name || "Choose a session");
  say($("curl"), curl(session || "demo"));
  connected({ name: opened ? "file" : "idle" });
  if (opened) look.file(opened.name, opened.events);
  else if (session !== "") open();
  list.look();
}

// message shows a message.
function message(key) {
  following = false;
  if (flow.name === "waterfall") flow.set("both");
  view.draw(look.state(state), Infinity);
  guided.show(view.node(key));
}

// visit shows the card of a call that was chosen in the waterfall, and moves the
// focus there if the keyboard was used.
function visit(key, focus) {
  following = false;
  place = { ...place, session, run: "", call: key };
  if (session) globalThis.history.replaceState(null, "", linkTo(place));
  guided.card(key, focus);
}

// arrive shows the place of the address once it is known.
function arrive(seen) {
  const there = guided.arrive(place, seen);
  if (!there && connection.name !== "live") return; // it can still come
  wanted = false;
  if (!there) guided.missing(place);
}

function reset() {
  look.end(false);
  store.reset();
  state = store.getSnapshot(), time = clock(), stopAsked = null, following = true;
  traffic = { bytes: 0, unreadable: 0 };
  stopping.clear();
  view.clear();
  kit.clear();
  flow.clear();
  shown = null;
  voice.clear();
  $("latest").hidden = true;
}

const list = sessionList([$("picker-list")], {
  watched: () => session === "" || $("sessions").matches(":popover-open"),
  current: () => session,
  onList(sessions, status) {
    if (status === 401) lock(true);
    if (sessions) showHistory(sessions);
    say($("landing-text"), sessions === null ? "The list of sessions cannot be had just now."
      : sessions.length === 0 ? "Nothing has happened yet." : "");
    $("landing-curl").hidden = sessions === null || sessions.length > 0;
    $("picker-none").hidden = sessions !== null && sessions.length > 0;
  },
});

// showHistory draws the history, which is loaded when no session is chosen.
let past = null;
async function showHistory(sessions) {
  $("landing-list").hidden = sessions.length === 0;
  if (session !== "") return;
  past ??= import("./history.js").then(({ history }) => history($("landing-list")));
  (await past).show(sessions);
}

// ---- wiring

$("replay").addEventListener("click", async () => {
  $("replay").disabled = true;
  await look.replay(base() + "/events").catch((err) => complain("The session cannot be replayed: " + err.message));
  $("replay").disabled = false;
});
$("export").addEventListener("click", () => {
  download(session, look.records, base() + "/events").catch((err) => complain("The session was not exported: " + err.message));
});
const files = opener({
  inputs: [$("file"), $("file-landing")], zone: $("drop"), complain,
  onOpen() {
    if (location.hash === FILE) choose();
    else location.hash = FILE;
  },
});

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

function nextTheme() {
  theme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
}

function latest() {
  following = true;
  $("latest").hidden = true;
  toEnd();
}

$("theme").addEventListener("click", nextTheme);
$("keys-open").addEventListener("click", () => kit.help());
$("raw-open").addEventListener("click", () => kit.frames());
stop.addEventListener("blur", drawStop);
$("retry").addEventListener("click", () => stream?.retryNow());
stop.addEventListener("click", stopAll);
$("latest").addEventListener("click", latest);
$("trouble-action").addEventListener("click", () => {
  // Only a forbidden request can be repeated unchanged.
  if (connection.status !== 403) reset();
  open(state.seq ? String(state.seq) : "");
});
$("numbers").addEventListener("toggle", redraw);
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
addEventListener("scroll", (e) => {
  const box = scroller();
  if (e.target !== box && e.target !== document) return;
  const near = box.scrollHeight - box.clientHeight - box.scrollTop < NEAR;
  if (near) $("latest").hidden = true;
  if (near || (box.scrollTop < lastY && performance.now() - touched < GESTURE)) following = near;
  lastY = box.scrollTop;
}, { passive: true, capture: true });
new ResizeObserver(toEnd).observe($("timeline"));
setInterval(tick, TICK);
theme();
await reader.ready;
choose();

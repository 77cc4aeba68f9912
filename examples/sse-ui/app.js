// The page: connects the stream, the state and the views.

import { readerSwitch } from "./reader.js";
import { store as remember } from "./storage.js";
import { sharing } from "./share.js";
import { terminal } from "./reduce.js";
import { createStore, eventOf } from "./store.js";
import { changes } from "./table.js";
import { clock } from "./clock.js";
import { connectionView } from "./connection.js";
import { stopper } from "./stop.js";
import { follower } from "./follow.js";
import { timeline } from "./timeline.js";
import { announcer } from "./announce.js";
import { copyButton } from "./copies.js";
import { sessionList } from "./sessions.js";
import { placeOf, linkTo } from "./place.js";
import { stage } from "./stage.js";
import { guide, views } from "./views.js";
import { callsOf, runsOf } from "./select.js";
import { FILE, opener, download } from "./open.js";
import { tools } from "./tools.js";
import { $, say, mark } from "./dom.js";
import { bytes, plural, tally, tellBy, visible } from "./words.js";

const SLICE = 5; // ms of drawing cards until other tasks have their turn
const TICK = 100; // ms between updates of the timers
const roomy = matchMedia("(min-width: 721px) and (min-height: 600px)"); // as in style.css

// example returns a command that starts a call in a session.
const example = (session) => "curl '" + location.origin + "/v1/sessions/" + encodeURIComponent(session).replaceAll("'", "%27") + "/deltas' \\\n  -H 'Content-Type: application/json' \\\n  -d '" +
  JSON.stringify({ id: "msg_1", object: "chat.completion.chunk", choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "call_1", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } }] }, finish_reason: "tool_calls" }] }) + "'";

const main = $("main");
const voice = announcer($("polite"), $("assertive"));
const store = createStore();
const reader = readerSwitch($("reader"), restart);
const streams = sharing({ address, open: reader.open });
const kit = tools({
  timeline: $("timeline"), bar: $("search"), raw: $("raw"), opener: $("raw-open"),
  state: () => look.state(state), session: () => session, now: () => look.now(time.now(Date.now())), redraw, latest, changed: () => notePlace(), link: (seq, what) => base() + "/events/" + seq + "/" + what, note: complain, theme: nextTheme,
  nextView: () => flow.next(), replay: () => $("replay").click(),
});
const stops = stopper({
  url: (to) => (session !== "" && look.name === "live" ? base() + (to || "/interrupt") : ""), state: () => state, note: complain,
  touch(key) { view.touched.add(key), redraw(); },
});
const link = connectionView({
  source: () => look.name, seq: () => state.seq, changed: redraw, alarm: voice.alarm, note: complain,
  retry: () => stream?.retryNow(),
  reopen(fresh) {
    if (fresh) reset();
    resume();
  },
  signedIn() {
    list.look();
    if (session !== "") resume();
  },
});
const actions = { stopping: stops.stopping, stopCall: stops.stopCall, answer: async (call, body) => (await import("./later.js")).send(base() + "/answer", call, body), session: () => session, result: kit.result, args: kit.args, renderers, address: kit.address, frames: kit.frames, message, call: another, later: () => import("./later.js") };
const view = timeline($("timeline"), actions);
const look = stage($("scrubber"), { changed: redraw, left: (name) => name === "file" && (location.hash = "") });
const flow = views({ main, chooser: $("views"), root: $("waterfall"), pick: view.choose, inspector: $("inspector"), actions, choose: visit, changed: redraw, moved: () => notePlace() });
// The page scrolls the conversation, or beside the waterfall a part of it.
const follow = follower(
  () => (flow.name === "both" && !$("waterfall").hidden && roomy.matches ? $("scroll") : document.documentElement),
  () => !["idle", "catching-up"].includes(link.name) && flow.name !== "waterfall",
  () => drawing !== 0,
);
const guided = guide({ flow, timeline: $("timeline"), inspector: $("inspector"), reveal: kit.reveal, note: complain });

let session = "", state = store.getSnapshot(), time = clock(), stream = null;
let news = false, traffic = { bytes: 0, unreadable: 0 };
let place = placeOf(""), wanted = false; // wanted: the place is not on the screen yet
let drawing = 0, grown = false, shown = null, searched = 0;

const base = () => "/v1/sessions/" + encodeURIComponent(session);

// ---- the stream

// restart opens the streams again, where they stopped.
function restart() {
  streams.restart();
  if (session !== "") resume();
}

// address returns the URL of the stream of some sessions.
function address(sessions) {
  const names = sessions.map(encodeURIComponent);
  return names.length === 1 ? "/v1/sessions/" + names[0] + "/events" : "/v1/events?session=" + names.join("&session=");
}

const resume = () => open(state.seq ? String(state.seq) : "");

function open(lastEventId = "") {
  stream?.close();
  const mine = (stream = streams.subscribe({
    session, url: base() + "/events", lastEventId,
    // A stream that was closed can still deliver a frame.
    onFrame: (frame) => mine === stream && receive(frame),
    onState: (s) => (mine ?? stream) === stream && link.change(s),
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
  const live = link.name === "live", before = state;
  if (live) time.hear(Date.parse(event.timestamp), Date.now());
  store.push(event, Number(frame.id) || 0, frame.data.length);
  state = store.getSnapshot();
  look.push(event, Number(frame.id) || 0, frame.data.length);
  for (const [key, call] of changes(before.calls, state.calls).set) {
    voice.heard(call, state.tally.open, !live || !follow.on || look.name !== "live");
    if (terminal(call.status)) stops.ended(key);
  }
  // The stop came too late; its call shows the outcome.
  if (event.type === "unmatched") for (const name of event.target?.calls ?? []) stops.forgive(name);
  if (live && event.type === "run_finished" && event.status === "error") voice.alarm("The run failed.");
  news = true;
  redraw();
}

function control(event, body) {
  if (event !== "stream.open") return;
  time.hear(Date.parse(body.now), Date.now());
  link.opened(body);
}

// renderers loads the renderers when the first value needs them. It returns null if they cannot be
// loaded, such as while the server is away.
let making = null;
function renderers() {
  return (making ??= import("./renderers.js").then(({ createRenderers }) => {
    const made = createRenderers();
    tellBy(made.telling);
    for (const key of state.calls.keys()) view.touched.add(key);
    shown = null;
    redraw();
    return made;
  }).catch(() => (making = null)));
}

// ---- drawing

function redraw() {
  drawing ||= requestAnimationFrame(draw);
}

function draw() {
  drawing = 0;
  const now = look.now(time.now(Date.now())), seen = look.state(state);
  const done = flow.name === "waterfall" || view.draw(seen, performance.now() + SLICE, now);
  kit.draw();
  if (main.dataset.source !== look.name) mark(main, "source", look.name), link.draw();
  drawSummary(seen);
  stops.draw();
  flow.tick(now);
  grown ||= shown !== seen;
  if (shown !== seen || kit.version() !== searched) flow.show(kit.found(callsOf(seen), now), runsOf(seen));
  searched = kit.version();
  shown = seen;
  view.tick(now);
  if (wanted && done) arrive(seen);
  if (!follow.on && news) $("latest").hidden = false;
  news = false;
  if (!done) return void (drawing = setTimeout(draw)); // before the next frame, if there is time
  if (grown) follow.toEnd();
  grown = grown && link.name === "catching-up"; // it is at its end later
}

function drawSummary({ timeline, tally: counts } = look.state(state)) {
  const empty = timeline.size === 0, file = look.name === "file";
  const words = tally(counts);
  say($("summary"), words.length === 0 ? "" : plural(counts.calls, "call") + ": " + words.join(", "));
  const title = (counts.open > 0 ? "(" + counts.open + ") " : "") + (session ? session + " · " : "") + "streamer";
  if (document.title !== visible(title)) document.title = visible(title);
  mark(document.documentElement, "session", String(session !== "" || file));
  mark(document.body, "empty", String(empty));
  $("replay").hidden = look.name !== "live";
  const waits = session !== "" && empty;
  $("empty").hidden = !waits || !["live", "ended"].includes(link.name);
  $("landing").hidden = session !== "" || file;
  $("loading").hidden = !waits || !["connecting", "catching-up"].includes(link.name);
  if ($("numbers").open) drawNumbers();
}

function drawNumbers() {
  const c = state.counts;
  const rows = [
    [c.events, "events"], [bytes(traffic.bytes), "received"], [state.seq, "last sequence"], [c.duplicates, "duplicates"],
    [c.gaps, "holes"], [c.afterEnd, "after their end"], [c.unknown, "of unknown type"], [traffic.unreadable, "unreadable"],
  ];
  say($("numbers-text"), rows.map(([n, what]) => n + " " + what).join(" · "));
}

function tick() {
  link.tick();
  if (!document.hidden) tickTimers();
  stops.tick();
}

// tickTimers updates the timers in the window, or all of them for print.
function tickTimers(all) {
  if (look.name !== "live") return;
  const now = time.now(Date.now());
  view.tick(now, all, link.lost);
  if (!link.stale) flow.tick(now);
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
  place = next, wanted = next.call + next.run + next.zoom !== "";
  if (next.call || next.run) follow.on = false;
  if (next.session === session && stream && !opened) return redraw();
  stream?.close();
  stream = null, session = next.session;
  look.end();
  reset();
  say($("session-name"), session || opened?.name || "Choose a session");
  for (const id of ["curl", "landing-command"]) say($(id), example(session || "demo"));
  link.change({ name: opened ? "file" : "idle" });
  if (next.view) flow.set(next.view);
  kit.search.set(next);
  if (opened) look.file(opened.name, opened.events);
  else if (session !== "") open();
  list.look();
}

// message shows a message.
function message(key) {
  follow.on = false;
  if (flow.name === "waterfall") flow.set("both");
  view.draw(look.state(state), Infinity, look.now(time.now(Date.now())));
  guided.show(view.node(key));
}

// another shows the card of a call to which the card of another leads.
function another(key) {
  view.draw(look.state(state), Infinity, look.now(time.now(Date.now())));
  flow.select(key);
  visit(key, true);
}

// visit shows the card of a call that was chosen in the waterfall, and moves the
// focus there if the keyboard was used.
function visit(key, focus) {
  remark(key);
  guided.card(key, focus);
}

// notePlace puts the view, the search and the part of the time axis into the address.
function notePlace() {
  if (!session) return;
  place = { ...place, session, ...kit.search.parts(), view: main.dataset.view, zoom: flow.zoom };
  history.replaceState(null, "", linkTo(place));
}

// remark puts the call that the reader looks at into the address.
function remark(key) {
  follow.on = false;
  place = { ...place, session, run: "", call: key };
  if (session) history.replaceState(null, "", linkTo(place));
}

// arrive shows the place of the address once it is known.
function arrive(seen) {
  const there = place.call || place.run ? guided.arrive(place, seen) : true;
  if ((!there || place.zoom) && link.name !== "live") return; // it can still come
  wanted = false;
  flow.zoomTo(place.zoom);
  if (!there) guided.missing(place);
}

function reset() {
  look.end(false);
  store.reset();
  state = store.getSnapshot(), time = clock(), follow.on = true;
  traffic = { bytes: 0, unreadable: 0 };
  stops.clear();
  view.clear();
  kit.clear();
  flow.clear();
  shown = null;
  voice.clear();
  $("latest").hidden = true;
}

const list = sessionList($("picker-list"), {
  watched: () => location.protocol !== "file:" && (session === "" || $("sessions").matches(":popover-open")),
  current: () => session,
  onList(sessions, status) {
    if (status === 401) link.lock();
    if (sessions) showHistory(sessions);
    say($("landing-text"), sessions === null ? "The list of sessions cannot be read now."
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
  past ??= import("./later.js").then(({ history }) => history($("landing-list")));
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
$("export-page").addEventListener("click", () => {
  download(session, look.records, base() + "/events", true).catch((err) => complain("The session was not exported: " + err.message));
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
  follow.on = true;
  $("latest").hidden = true;
  follow.toEnd();
}

// A press moves the focus before its click, which a card that grows would miss.
let pressed = false;
$("timeline").addEventListener("pointerdown", () => (pressed = true));
addEventListener("pointerup", () => setTimeout(() => (pressed = false)));
$("timeline").addEventListener("focusin", ({ target }) => pressed || chooseCard(target));
$("timeline").addEventListener("click", ({ target }) => chooseCard(target), true); // before that of a button
function chooseCard(target) {
  const key = target.closest(".card")?.dataset.call;
  if (key && key !== flow.chosen) remark(key), flow.select(key);
}
$("theme").addEventListener("click", nextTheme);
$("keys-open").addEventListener("click", () => kit.help());
$("raw-open").addEventListener("click", () => kit.frames());
$("latest").addEventListener("click", latest);
$("numbers").addEventListener("toggle", redraw);
$("sessions").addEventListener("toggle", (e) => e.newState === "open" && list.look());
$("other").addEventListener("submit", (e) => {
  e.preventDefault();
  const name = $("other-name").value.trim();
  if (name) location.hash = linkTo({ session: name });
});
addEventListener("hashchange", choose);
addEventListener("beforeprint", () => tickTimers(true));
setInterval(tick, TICK);
for (const id of ["curl", "landing-command"]) $(id).after(copyButton("Copy the command", "Copy the command", () => $(id).textContent) ?? "");
theme();
await reader.ready;
await files.embedded();
choose();

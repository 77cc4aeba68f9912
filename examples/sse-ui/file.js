// Events in files: one JSON object per line, as the command streamer assemble
// --events prints them and as this page exports them. No DOM.

const STEP = 40; // ms between the events of a file without times

// parseEvents returns {events, notes} for the text of a file. events is empty if
// the file has none, and notes say why, and what can be done.
export function parseEvents(text) {
  const events = [];
  let foreign = "", broken = 0, first = 0;
  text.split(/\r?\n/).forEach((line, i) => {
    if (line.trim() === "") return;
    const body = read(line);
    if (isEvent(body)) events.push(body);
    else if (body === undefined) broken++, first ||= i + 1;
    else foreign ||= formatOf(body);
  });
  if (events.length === 0) return { events, notes: [why(text, foreign)] };
  const notes = [];
  if (broken > 0) notes.push(broken + (broken === 1 ? " line is" : " lines are") + " not JSON, the first is line " + first + ".");
  if (foreign) notes.push("Lines that are not events were left out.");
  if (timeless(events)) notes.push("The file has no times: its events are shown " + STEP + " ms apart.");
  return { events: timeless(events) ? spaced(events) : events, notes };
}

function read(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

// isEvent reports whether a value is an event: it has a type and a place in its
// session, or is the message for the history in the form of streams of several
// sessions.
function isEvent(body) {
  return typeof body === "object" && body !== null && typeof body.type === "string" && typeof body.event_id === "string" && typeof body.session === "string";
}

const FORMATS = [
  ["OpenAI chat", (b) => b.object === "chat.completion.chunk" || Array.isArray(b.choices)],
  ["OpenAI Responses", (b) => typeof b.type === "string" && b.type.startsWith("response.")],
  ["Anthropic", (b) => ["message_start", "content_block_start", "content_block_delta", "message_delta"].includes(b.type)],
  ["Gemini", (b) => Array.isArray(b.candidates)],
  ["Ollama", (b) => "message" in b && "done" in b],
  ["AG-UI", (b) => /^(RUN|TEXT|TOOL)_[A-Z_]+$/.test(b.type ?? "")],
];

// formatOf returns the name of the provider's format of a value.
function formatOf(body) {
  if (Array.isArray(body)) return body.length > 0 ? formatOf(body[0]) : "another format";
  if (body === null || typeof body !== "object") return "another format";
  return FORMATS.find(([, holds]) => holds(body))?.[0] ?? "another format";
}

function why(text, foreign) {
  if (text.trim() === "") return "The file is empty.";
  const stream = foreign || (/^(event|data|id|retry):/m.test(text) ? "server-sent events" : "");
  if (!stream) return "The file has no events: it is not JSON, one object per line.";
  const what = foreign === "another format" ? "The file has JSON that is not events." : "The file is a recorded stream of a provider (" + stream + "), not events.";
  return what + " Convert a recorded stream with: streamer assemble --events FILE > events.jsonl";
}

const timeless = (events) => events.length > 1 && events.every((e) => e.timestamp === events[0].timestamp);

function spaced(events) {
  const start = Date.parse(events[0].timestamp) || 0;
  return events.map(({ deadline: _, ...event }, i) => ({ ...event, timestamp: new Date(start + i * STEP).toISOString() }));
}

// formatPage returns this page as one file that shows events, given as the text of a file, in
// an element with the given id. It loads nothing.
export async function formatPage(events, name, id) {
  const lazy = ["later.js", "renderers.js"];
  const [html, css, app, ...modules] = await Promise.all(["./", "page.css", "app.js", ...lazy].map(async (file) => {
    const response = await fetch(file);
    if (!response.ok) throw new Error(file + ": " + response.status);
    return response.text();
  }));
  const code = lazy.reduce((code, file, i) => code.replaceAll("./" + file, () => "data:" + "text/javascript," + encodeURIComponent(modules[i])), app).replaceAll("</script", "<\\/script");
  const tag = (name, attributes, text) => "<" + name + attributes + ">" + text + "</" + name + ">";
  const escaped = name.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const data = tag("script", ' type="application/json" id="' + id + '" data-name="' + escaped + '"', JSON.stringify(events).replaceAll("<", "\\u003c"));
  return html.replace(/<meta http-equiv[^>]*>/, () => '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; script-src \'unsafe-inline\' data:; img-src data:">')
    .replace(/<link rel="icon"[^>]*>/, "").replace(/<script src="theme.js"><\/script>/, "")
    .replace(/<link rel="stylesheet"[^>]*>/, () => tag("style", "", css))
    .replace(/<script type="module"[^>]*><\/script>/, "")
    .replace("</body>", () => data + tag("script", ' type="module"', code) + "</body>");
}

// formatEvents returns the text of a file with events. session is the name for
// messages for the history, which name none.
export function formatEvents(records, session) {
  return records.map(({ event, seq }) => JSON.stringify(event.type === "synthetic" && !event.event_id
    ? { ...event, event_id: "synthetic " + seq, session } : event) + "\n").join("");
}

// Opening a file with events, by drop or by choice, and saving a session as one.

import { load, record } from "./stage.js";
import { el } from "./dom.js";

// FILE is the fragment of the page's address while a file is shown.
export const FILE = "#file";

const EMBEDDED = "events"; // id of the events in an exported page
const KEEP = 10_000; // ms until the address of a saved file is given back

// opener opens the files that are chosen in inputs or dropped on the page. zone
// is shown while a file is dragged over it. opened is {name, events} of the last
// one, and onOpen() is called after it was read.
export function opener({ inputs, zone, complain, onOpen }) {
  const result = { opened: null };

  async function read({ name, text }) {
    try {
      const { parseEvents } = await import("./later.js");
      const { events, notes } = parseEvents(await text());
      if (notes.length > 0) complain(name + ": " + notes.join(" "));
      if (events.length === 0) return;
      result.opened = { name, events };
      onOpen();
    } catch (err) {
      complain(name + " cannot be read: " + err.message);
    }
  }

  // embedded opens the events of a page that was exported with them.
  result.embedded = async () => {
    const node = document.getElementById(EMBEDDED);
    if (node) await read({ name: node.dataset.name, text: async () => JSON.parse(node.textContent) });
  };

  for (const input of inputs) {
    input.addEventListener("change", () => {
      const [file] = input.files;
      if (file) read({ name: file.name, text: () => textOf(file) });
      input.value = "";
    });
  }
  const carries = (e) => [...(e.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragover", (e) => {
    if (!carries(e)) return;
    e.preventDefault();
    zone.hidden = false;
  });
  addEventListener("dragleave", (e) => (zone.hidden = e.relatedTarget === null || zone.hidden));
  addEventListener("drop", (e) => {
    zone.hidden = true;
    if (!carries(e)) return;
    e.preventDefault();
    const [file] = e.dataTransfer.files;
    if (file) read({ name: file.name, text: () => textOf(file) });
  });
  return result;
}

// textOf returns the text of a file, which is compressed if it comes from an archive.
const textOf = (file) => file.name.endsWith(".gz") ? new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text() : file.text();

// download saves the events of a replay, or the stored events of the session at url, as lines
// of JSON, or as a page that shows them without a server.
export async function download(session, replay, url, page = false) {
  const { formatEvents, formatPage } = await import("./later.js");
  replay ??= await load(url, await record());
  const records = Array.from({ length: replay.length }, (_, i) => replay.record(i));
  const name = session || records[0]?.event.session || "session";
  const events = formatEvents(records, name);
  const blob = page ? new Blob([await formatPage(events, name, EMBEDDED)], { type: "text/html" }) : new Blob([events], { type: "application/x-ndjson" });
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name.replace(/[^\p{L}\p{N}._-]+/gu, "-") + (page ? ".html" : ".jsonl") }).click();
  setTimeout(() => URL.revokeObjectURL(address), KEEP);
}

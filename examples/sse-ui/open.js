// Opening a file with events, by drop or by choice, and saving a session as one.

import { createReplay } from "./replay.js";
import { load } from "./stage.js";
import { el } from "./dom.js";

// FILE is the fragment of the page's address while a file is shown.
export const FILE = "#file";

const KEEP = 10_000; // ms until the address of a saved file is given back

// opener opens the files that are chosen in inputs or dropped on the page. zone
// is shown while a file is dragged over it. opened is {name, events} of the last
// one, and onOpen() is called after it was read.
export function opener({ inputs, zone, complain, onOpen }) {
  const result = { opened: null };

  async function read(file) {
    try {
      const { parseEvents } = await import("./later.js");
      const { events, notes } = parseEvents(await file.text());
      if (notes.length > 0) complain(file.name + ": " + notes.join(" "));
      if (events.length === 0) return;
      result.opened = { name: file.name, events };
      onOpen();
    } catch (err) {
      complain(file.name + " cannot be read: " + err.message);
    }
  }

  for (const input of inputs) {
    input.addEventListener("change", () => {
      if (input.files[0]) read(input.files[0]);
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
    read(e.dataTransfer.files[0]);
  });
  return result;
}

// download saves the events of a replay, or the stored events of the session at url.
export async function download(session, replay, url) {
  const { formatEvents } = await import("./later.js");
  replay ??= await load(url, createReplay());
  const records = Array.from({ length: replay.length }, (_, i) => replay.record(i));
  const name = session || records[0]?.event.session || "session";
  const address = URL.createObjectURL(new Blob([formatEvents(records, name)], { type: "application/x-ndjson" }));
  el("a", { href: address, download: name.replace(/[^\p{L}\p{N}._-]+/gu, "-") + ".jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(address), KEEP);
}

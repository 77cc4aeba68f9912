// The switch between fetch and the EventSource of the browser for reading streams.

import { subscribe } from "./sse.js";
import { say, mark } from "./dom.js";
import { stored, store } from "./storage.js";

// readerSwitch returns {ready, open(options)}: open is subscribe of the chosen module
// after ready has resolved. changed() is called after a click on the button.
export function readerSwitch(button, changed) {
  let read = subscribe;

  async function choose(native) {
    read = (native ? await import("./later.js") : { subscribe }).subscribe;
    say(button, native ? "Read with fetch" : "Read with EventSource");
    mark(button, "native", String(native));
  }

  button.addEventListener("click", async () => {
    const native = button.dataset.native !== "true";
    store("reader", native ? "eventsource" : "fetch");
    await choose(native);
    changed();
  });
  return { ready: choose(stored("reader", "fetch") === "eventsource"), open: (options) => read(options) };
}

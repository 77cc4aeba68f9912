// Buttons that copy a call, or a part of it, to the clipboard.

import { el } from "./dom.js";
import { jsonOf, curlOf, historyOf, STYLES } from "./copies.js";

const SHOWN = 1_500; // ms until a button has its own text again

// copyButton returns a button that copies the text of read(), which may be a
// promise. It returns null where the browser has no clipboard for this page.
export function copyButton(text, name, read) {
  if (!navigator.clipboard) return null;
  const button = el("button", { type: "button", class: "copy", "aria-label": name }, text);
  button.addEventListener("click", async () => {
    button.textContent = await copied(read);
    setTimeout(() => (button.textContent = text), SHOWN);
  });
  return button;
}

// copied copies a text and returns the outcome.
export async function copied(read) {
  try {
    await navigator.clipboard.writeText(await read());
    return "copied";
  } catch (err) {
    return err.name === "NotAllowedError" ? "not allowed" : "failed";
  }
}

// copyRow returns the buttons that copy the call that call() returns. actions has
// result(call), a promise of the whole result, session() and address(call).
export function copyRow(call, actions) {
  const value = () => actions.result(call());
  const texts = [
    ["JSON", "Copy as JSON", async () => jsonOf(call(), await value())],
    ["curl", "Copy as curl commands", async () => curlOf(call(), actions.session(), await value())],
    ...Object.entries(STYLES).map(([style, name]) => [name + " messages", "Copy as messages of " + name, async () => historyOf(call(), style, await value())]),
    ["link", "Copy the link to this call", () => actions.address(call())],
  ];
  const buttons = texts.map(([text, name, read]) => copyButton(text, name, read));
  return buttons.includes(null) ? null : el("p", { class: "copies" }, "Copy as ", ...buttons);
}

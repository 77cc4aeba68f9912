// The buttons that copy a call, and the texts of large values. What a call is copied as is
// in written.js, which is loaded with the first copy.

import { el } from "./dom.js";

// excerptOf returns the text that the preview of a large value shows: the
// preview is the beginning of JSON, and of a string only its content is shown.
export function excerptOf(preview) {
  if (!preview.startsWith('"')) return preview + "…";
  const whole = preview.slice(1).replace(/\\(u[0-9a-fA-F]{0,3})?$/, "");
  for (const end of [whole, whole.slice(0, -1)]) {
    try {
      return JSON.parse('"' + end + '"') + "…";
    } catch {
      // The cut is within an escape.
    }
  }
  return preview + "…";
}

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
// result(call), a promise of the whole result, session(), address(call), and later(), a promise of
// the functions that write the texts.
export function copyRow(call, actions) {
  const as = (write) => async () => write(await actions.later(), call(), await actions.result(call()));
  const texts = [
    ["JSON", "Copy as JSON", as((later, ...all) => later.jsonOf(...all))],
    ["curl", "Copy as curl commands", as((later, one, value) => later.curlOf(one, actions.session(), value))],
    ...["OpenAI", "Anthropic"].map((name) => [name + " messages", "Copy as messages of " + name, as((later, one, value) => later.historyOf(one, name.toLowerCase(), value))]),
    ["link", "Copy the link to this call", () => actions.address(call())],
  ];
  const buttons = texts.map(([text, name, read]) => copyButton(text, name, read));
  return buttons.includes(null) ? null : el("p", { class: "copies" }, "Copy as ", ...buttons);
}

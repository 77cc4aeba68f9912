// The answer of a person to a call that waits.

import { el, say } from "./dom.js";
import { complaint } from "./sse.js";

// send posts an answer to a session. It throws an error with the reason why it is not
// stored.
export async function send(url, call, body) {
  const response = await fetch(url, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ call: call.call, ...body }),
  });
  if (!response.ok) throw new Error(await complaint(response));
}

// answerForm returns {node, show(call)}: buttons to approve and deny, and a text for other
// arguments or a reply. answer(call, body) returns a promise of when it is stored.
export function answerForm(answer) {
  let call = null, decision = "", sending = false;
  const button = (text, onclick, cls) => el("button", { type: "button", class: cls, onclick }, text);
  const choices = el("div", { class: "choices" },
    button("Approve", () => submit({ decision: "approve" }), "primary"), button("Deny", () => submit({ decision: "deny" })),
    button("Edit arguments", () => write("edit")), button("Reply", () => write("reply")));
  const label = el("span");
  const text = el("textarea", { rows: "4", spellcheck: "false", onkeydown: keys });
  const fault = el("p", { class: "note warn", role: "alert", hidden: true });
  const form = el("form", { hidden: true, onsubmit: (e) => (e.preventDefault(), finish()) },
    el("label", {}, label, text), el("div", { class: "choices" }, el("button", { type: "submit", class: "primary" }, "Send"), button("Back", back)));
  const node = el("div", { class: "answer", role: "group" }, choices, form, fault);

  function write(which) {
    decision = which;
    say(label, which === "edit" ? "Arguments to use, as JSON" : "Your reply");
    text.value = which === "edit" ? pretty(call.args.text) : "";
    choices.hidden = !(form.hidden = false);
    text.focus();
  }

  function back() {
    form.hidden = !(choices.hidden = false);
    say(fault, "");
    choices.firstChild.focus();
  }

  // Escape would close what is around the card.
  function keys(e) {
    if (e.key === "Escape") e.stopPropagation(), back();
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) finish();
  }

  function finish() {
    if (decision === "reply") return void submit({ decision, value: text.value });
    try {
      const args = JSON.parse(text.value);
      if (args === null || typeof args !== "object" || Array.isArray(args)) throw new Error("an object is needed, such as {}");
      submit({ decision, args });
    } catch (err) {
      say(fault, "These arguments cannot be used: " + err.message);
    }
  }

  async function submit(body) {
    if (sending) return;
    sending = true;
    node.setAttribute("aria-busy", "true");
    say(fault, "");
    await answer(call, body).catch((err) => say(fault, "Not answered: " + err.message));
    node.removeAttribute("aria-busy");
    sending = false;
  }

  return {
    node,
    show(next) {
      call = next;
      node.hidden = call.status !== "awaiting_input";
      node.setAttribute("aria-label", "Answer to " + (call.tool || "the call"));
    },
  };
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

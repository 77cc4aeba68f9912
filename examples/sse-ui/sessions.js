// The list of sessions: in the picker, and on the page if no session is chosen.

import { el, say } from "./dom.js";
import { linkTo } from "./place.js";
import { ago } from "./words.js";

const EVERY = 10_000, EVERY_QUIET = 60_000; // ms between requests of the list
const SHOWN = 200;

// sessionList requests the list, more often while watched() is true, and fills
// every element of lists. onList(sessions, status) receives the result; sessions
// is null if the request failed, and status is the HTTP status or 0.
export function sessionList(lists, { watched, current, onList }) {
  let timer = 0, shown = "";

  async function look() {
    clearTimeout(timer);
    if (!document.hidden) {
      const { sessions, status } = await ask();
      if (sessions) fill(sessions);
      onList(sessions, status);
    }
    clearTimeout(timer);
    timer = setTimeout(look, watched() ? EVERY : EVERY_QUIET);
  }

  function fill(sessions) {
    const rows = sessions.slice(0, SHOWN).map((s) => ({ ...s, when: Date.parse(s.last) ? ago(Date.now() - Date.parse(s.last)) : "" }));
    const key = JSON.stringify([rows, current()]);
    if (key === shown) return;
    shown = key;
    for (const list of lists) list.replaceChildren(...rows.map(rowOf));
  }

  function rowOf({ session, when, open }) {
    const badge = el("span", { class: "chip" });
    say(badge, open > 0 ? open + " open" : "");
    return el("li", {}, el("a", { href: linkTo({ session }), "aria-current": session === current() && "true" },
      el("span", { class: "name" }, session), badge, el("span", { class: "when" }, when)));
  }

  document.addEventListener("visibilitychange", () => document.hidden || look());
  look();
  return { look };
}

async function ask() {
  let status = 0;
  try {
    const response = await fetch("/v1/sessions", { headers: { Accept: "application/json" }, cache: "no-store" });
    status = response.status;
    const list = response.ok ? await response.json() : null;
    return { status, sessions: Array.isArray(list) ? list.filter((s) => typeof s?.session === "string") : null };
  } catch {
    return { status, sessions: null };
  }
}

// The list of sessions.

import { el } from "./dom.js";
import { linkTo } from "./place.js";
import { ago } from "./words.js";

const EVERY = 10_000; // ms between requests of the list

// sessionList requests the list of sessions while watched() is true, and
// fills the element list. onList(sessions, status) receives the result of ask.
export function sessionList(list, { watched, current, onList }) {
  let timer = 0, shown = "";

  async function look() {
    clearTimeout(timer);
    if (!document.hidden && watched()) {
      const { sessions, status } = await ask();
      if (sessions) fill(sessions);
      onList(sessions, status);
    }
    clearTimeout(timer);
    timer = setTimeout(look, EVERY);
  }

  function fill(sessions) {
    const rows = sessions.map((s) => ({ ...s, when: Date.parse(s.last) ? ago(Date.now() - Date.parse(s.last)) : "" }));
    const key = JSON.stringify([rows, current()]);
    if (key === shown) return;
    shown = key;
    list.replaceChildren(...rows.map(rowOf));
  }

  function rowOf({ session, when, open }) {
    return el("li", {}, el("a", { href: linkTo({ session }), "aria-current": session === current() && "true" },
      el("span", { class: "name" }, session), open > 0 ? el("span", { class: "chip" }, open + " open") : null, el("span", { class: "when" }, when)));
  }

  document.addEventListener("visibilitychange", () => document.hidden || look());
  return { look };
}

// ask requests the newest sessions. It returns {sessions, status}: sessions is null if
// the request failed, and status is the HTTP status or 0.
export async function ask(limit = 100) {
  let status = 0;
  try {
    const response = await fetch("/v1/sessions?limit=" + limit, { headers: { Accept: "application/json" }, cache: "no-store" });
    status = response.status;
    const list = response.ok ? await response.json() : null;
    return { status, sessions: Array.isArray(list) ? list.filter((s) => typeof s?.session === "string") : null };
  } catch {
    return { status, sessions: null };
  }
}

// The place in the fragment of the page's address: a session, in it a run or a call, the
// view, what the search shows, and the part of the time axis. No DOM.

const PARTS = ["session", "run", "call", "view", "find", "status", "tool", "least", "zoom"];

// placeOf returns the parts of a fragment; one that is not there is "".
export function placeOf(hash) {
  const place = Object.fromEntries(PARTS.map((name) => [name, ""]));
  for (const pair of hash.replace(/^#/, "").split("&")) {
    const name = pair.slice(0, pair.indexOf("="));
    if (!PARTS.includes(name)) continue;
    try {
      place[name] = decodeURIComponent(pair.slice(name.length + 1));
    } catch {
      // An invalid escape names nothing.
    }
  }
  return place;
}

// linkTo returns the fragment of a place.
export function linkTo(place) {
  return "#" + PARTS.filter((name) => place[name]).map((name) => name + "=" + encodeURIComponent(place[name])).join("&");
}

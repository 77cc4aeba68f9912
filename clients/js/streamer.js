// The client of streamer.

import { Http } from "./http.js";
import { Session } from "./session.js";

export { Cancelled, Gone, StreamerError, Suspended, ToolFailed } from "./errors.js";

/**
 * Returns a server.
 * @param {string} url
 * @param {import("./streamer.js").Options} [options]
 */
export function streamer(url = "http://127.0.0.1:8080", options) {
  const http = new Http(url, options);
  return { session: (name) => new Session(http, name) };
}

// The errors of this package.

/** A request that the server refused, or that could not be made. */
export class StreamerError extends Error {
  name = "StreamerError";
  /** The HTTP status, 0 if there was no answer. */
  status = 0;
  /** How long to wait before the next attempt, in milliseconds, if the server states it. */
  retryAfter = 0;

  /** Reports whether the same request may succeed later. */
  get temporary() {
    return [0, 408, 425, 429, 502, 503, 504].includes(this.status);
  }
}

/** The events after the cursor are no longer stored. */
export class Gone extends StreamerError {
  name = "Gone";
}

/** The call was closed before its tool had ended, or the run was interrupted. */
export class Cancelled extends Error {
  name = "Cancelled";

  /** @param {{call?: string, status: string, reason?: {code: string, text: string}}} event that closed it */
  constructor({ call, status, reason }) {
    super(reason?.text ?? `the call ${call} was closed with the status ${status}`);
    Object.assign(this, { call, status, reason });
  }
}

/** The tool failed in another process, or its args are not valid. */
export class ToolFailed extends Error {
  name = "ToolFailed";
}

/** A tool ends without a result, and will be run again. The claim of its call ends. */
export class Suspended extends Error {
  name = "Suspended";
}

/** Returns the error of a status that is not 2xx. */
export function refused(status, reason) {
  const gone = status === 410 ? "; start again without `after`, and discard what was read" : "";
  return Object.assign(new (gone ? Gone : StreamerError)(`streamer: ${status}: ${reason}${gone}`), { status });
}

/** Returns the error of an answer whose status is not 2xx. */
export async function refusal(response) {
  const error = refused(response.status, reasonIn(await response.text().catch(() => "")));
  const seconds = Number(response.headers.get("retry-after"));
  if (seconds > 0) error.retryAfter = Math.min(seconds, 120) * 1000;
  return error;
}

function reasonIn(body) {
  try {
    return JSON.parse(body).error ?? body;
  } catch {
    return body.slice(0, 400);
  }
}

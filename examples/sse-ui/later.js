// What is loaded when it is used first: one file of the served page. It has copies of the
// modules that the page has loaded, so these keep no state that both need.

export { send, answerForm } from "./answer.js";
export { subscribe } from "./eventsource.js";
export { parseEvents, formatEvents, formatPage } from "./file.js";
export { history } from "./history.js";
export { rawView } from "./raw.js";
export { scrubber } from "./scrubber.js";
export { curlOf, historyOf, jsonOf } from "./written.js";

// What is loaded when it is used first: one file of the served page. It has copies of the
// modules that the page has loaded, so these keep no state that both need. LATER_CSS is the text of
// later.css.

export { send, answerForm } from "./answer.js";
export { subscribe } from "./eventsource.js";
export { parseEvents, formatEvents, formatPage } from "./file.js";
export { history } from "./history.js";
export { rawView } from "./raw.js";
export { createReplay } from "./replay.js";
export { scrubber } from "./scrubber.js";
export { curlOf, historyOf, jsonOf } from "./written.js";

const sheet = new CSSStyleSheet();
sheet.replaceSync(LATER_CSS);
document.adoptedStyleSheets.push(sheet);

import type { Call } from "./reduce.js";

/** How the calls of a tool are shown. A value is the parsed JSON, or the text if it is not JSON. */
export interface Renderer {
  /** Returns the element for the whole args, or null for the form of the value. */
  args?(value: unknown, call: Call): Node | null;
  /** Returns the element for the result. */
  result?(value: unknown, call: Call): Node | null;
  /** Returns the text beside the name of the tool. */
  telling?(value: unknown, call: Call): string;
}

export interface Renderers {
  register(tool: string, renderer: Renderer): void;
  /** Returns null if the text is the best form. */
  draw(side: "args" | "result", text: string, call: Call): Node | null;
  telling(call: Call): string;
}

/** Returns the renderers of a page, or of a shadow root, which gets their style. */
export function createRenderers(root?: DocumentOrShadowRoot): Renderers;

/** The lines of two texts: " " for those of both, "-" and "+" for those of one. */
export function compare(before: string, after: string): [" " | "-" | "+", string][];

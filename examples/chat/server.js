// The server of the page: the API of useChat, and the way to streamer.

import { createServer } from "node:http";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

import { createUIMessageStreamResponse } from "ai";
import { build } from "esbuild";
import { streamer } from "streamer-client";

import { answer } from "./agent.js";
import { load } from "./storage.js";

const { STREAMER_URL = "http://127.0.0.1:8080", STREAMER_TOKEN, PORT = 3000 } = process.env;
const server = streamer(STREAMER_URL, { token: STREAMER_TOKEN });
const files = await page();

const routes = [
  ["POST", /^\/api\/chat$/, async (request) => {
    const body = await request.json();
    return createUIMessageStreamResponse({ stream: await answer(server.session(body.id), body) });
  }],
  ["GET", /^\/api\/chat\/([^/]+)$/, async (_, id) => Response.json(await load(server.session(decodeURIComponent(id))))],
  // What the page reads and sends itself. A server with users checks here whether the session is theirs.
  ["GET", /^\/v1\/(?:ai-sdk\/[^/]+\/stream|sessions\/[^/]+\/(?:events|messages).*)$/, pass],
  ["POST", /^\/v1\/sessions\/[^/]+\/interrupt$/, pass],
  ["GET", /^\/(?:page\.(?:js|css))?$/, async (request) => files[new URL(request.url).pathname]()],
];

/** Passes a request on to streamer. */
async function pass(request) {
  const { pathname, search } = new URL(request.url);
  const headers = new Headers(["accept", "content-type", "idempotency-key", "last-event-id"].flatMap((name) => (request.headers.has(name) ? [[name, request.headers.get(name)]] : [])));
  if (STREAMER_TOKEN) headers.set("authorization", `Bearer ${STREAMER_TOKEN}`);
  const body = request.method === "POST" ? await request.text() : undefined;
  const { status, body: stream, headers: got } = await fetch(STREAMER_URL + pathname + search, { method: request.method, headers, body, signal: request.signal });
  return new Response(stream, { status, headers: { "content-type": got.get("content-type") ?? "text/plain", "cache-control": "no-store" } });
}

async function handle(request) {
  const { pathname } = new URL(request.url);
  for (const [method, path, handler] of routes) {
    const match = request.method === method && path.exec(pathname);
    if (match) return handler(request, ...match.slice(1));
  }
  return new Response("not found", { status: 404 });
}

/** Returns the files of the page. */
async function page() {
  const entry = (name) => fileURLToPath(new URL(name, import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [entry("page.jsx")], bundle: true, write: false, outdir: "/", format: "esm", jsx: "automatic", preserveSymlinks: true, minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const file = (ending) => outputFiles.find(({ path }) => path.endsWith(ending)).contents;
  const of = (type, content) => () => new Response(content, { headers: { "content-type": `${type}; charset=utf-8` } });
  const html = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Chat</title><link rel="stylesheet" href="/page.css"><div id="root"></div><script type="module" src="/page.js"></script></html>';
  return { "/": of("text/html", html), "/page.js": of("text/javascript", file(".js")), "/page.css": of("text/css", file(".css")) };
}

createServer(async (incoming, outgoing) => {
  const abort = new AbortController();
  outgoing.on("close", () => abort.abort());
  const body = incoming.method === "POST" ? Readable.toWeb(incoming) : undefined;
  const request = new Request(new URL(incoming.url, "http://chat"), { method: incoming.method, headers: incoming.headers, body, duplex: "half", signal: abort.signal });
  try {
    const response = await handle(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (!response.body) return void outgoing.end();
    Readable.fromWeb(response.body).on("error", () => outgoing.destroy()).pipe(outgoing);
  } catch (error) {
    if (abort.signal.aborted) return;
    outgoing.writeHead(error.status || 500).end(error.message);
  }
}).listen(PORT, "127.0.0.1", function () {
  console.log(`page http://127.0.0.1:${this.address().port}/`);
});

// The messages of a chat: those in a directory, if CHAT_DIR is set, and those that streamer has.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const dir = process.env.CHAT_DIR;

/** Returns the messages of a chat. Those of the log are newer. */
export async function load(session) {
  const recent = await session.messages();
  const ids = new Set(recent.map(({ id }) => id));
  return [...(await stored(session)).filter(({ id }) => !ids.has(id)), ...recent];
}

/** Stores the messages of a chat. */
export async function save(session) {
  if (!dir) return;
  await mkdir(dir, { recursive: true });
  await writeFile(fileOf(session), JSON.stringify(await load(session)));
}

async function stored(session) {
  return dir ? JSON.parse(await readFile(fileOf(session), "utf8").catch(() => "[]")) : [];
}

const fileOf = ({ name }) => join(dir, `${encodeURIComponent(name)}.json`);

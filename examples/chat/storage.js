// The messages of a chat: those of its own storage, if CHAT_DIR names a directory, and those in the log.

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

const dir = process.env.CHAT_DIR;
const fileOf = (id) => join(dir, `${encodeURIComponent(id)}.json`);

/** Returns the messages of a chat. Those in the log are newer than stored ones. */
export async function load(session) {
  const logged = await session.messages();
  const stored = dir ? JSON.parse(await readFile(fileOf(session.name), "utf8").catch(() => "[]")) : [];
  const ids = new Set(logged.map(({ id }) => id));
  return [...stored.filter(({ id }) => !ids.has(id)), ...logged];
}

/** Stores the messages of a chat. Each call in them has a result. */
export async function save(session, messages) {
  if (!dir) return;
  await mkdir(dir, { recursive: true });
  const file = fileOf(session.name), part = `${file}.${process.hrtime.bigint()}`;
  await writeFile(part, JSON.stringify(await session.repair(messages)));
  await rename(part, file);
}

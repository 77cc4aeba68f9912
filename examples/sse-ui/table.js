// An ordered map that is never changed: set returns another table, which shares
// all but a few entries with the one before. It can be read like a Map.

const WIDTH = 32; // entries in a chunk

// Table keeps entries [key, value] in chunks, in the order of their keys' first
// set. The index is shared by all tables that grew from each other: it only
// gains keys, and an entry confirms or refutes its slot.
export class Table {
  static empty = new Table([], 0, new Map());

  constructor(chunks, size, index) {
    this.chunks = chunks;
    this.size = size;
    this.index = index;
  }

  // of returns the table of the given entries.
  static of(entries) {
    const chunks = [], index = new Map();
    let size = 0;
    for (const entry of entries) {
      if (size % WIDTH === 0) chunks.push([]);
      chunks.at(-1).push(entry);
      index.set(entry[0], size++);
    }
    return new Table(chunks, size, index);
  }

  entry(key) {
    const slot = this.index.get(key);
    if (slot === undefined || slot >= this.size) return undefined;
    const entry = this.chunks[Math.floor(slot / WIDTH)][slot % WIDTH];
    return entry[0] === key ? entry : undefined;
  }

  get(key) { return this.entry(key)?.[1]; }
  has(key) { return this.entry(key) !== undefined; }

  // set returns a table in which key has the value.
  set(key, value) {
    const found = this.entry(key);
    if (found && found[1] === value) return this;
    const slot = found ? this.index.get(key) : this.size;
    const chunks = this.chunks.slice(), at = Math.floor(slot / WIDTH);
    chunks[at] = at < chunks.length ? chunks[at].slice() : [];
    chunks[at][slot % WIDTH] = [key, value];
    if (found) return new Table(chunks, this.size, this.index);
    let index = this.index;
    // Another table that grew from the same one may have the key elsewhere.
    if (index.has(key) && index.get(key) !== slot) index = new Map(Array.from(this.entries(), ([k], i) => [k, i]));
    index.set(key, slot);
    return new Table(chunks, this.size + 1, index);
  }

  // filter returns the table of the entries that keep(value, key) accepts.
  filter(keep) {
    return Table.of(Array.from(this.entries()).filter(([key, value]) => keep(value, key)));
  }

  // at returns the value at the given position; a negative one counts from the end.
  at(position) {
    const slot = position < 0 ? this.size + position : position;
    return slot < 0 || slot >= this.size ? undefined : this.chunks[Math.floor(slot / WIDTH)][slot % WIDTH][1];
  }

  *entries() { for (const chunk of this.chunks) yield* chunk; }
  *keys() { for (const [key] of this.entries()) yield key; }
  *values() { for (const [, value] of this.entries()) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  forEach(use) { for (const [key, value] of this.entries()) use(value, key, this); }
}

// changes returns the entries in which two tables differ: set are the entries of
// after that before has not or with another value, gone the keys that only before
// has. Chunks that both share are not compared.
export function changes(before, after) {
  const set = [], gone = [];
  for (let i = 0; i < Math.max(before.chunks.length, after.chunks.length); i++) {
    const old = before.chunks[i], now = after.chunks[i];
    if (old === now) continue;
    for (const entry of now ?? []) if (before.entry(entry[0])?.[1] !== entry[1]) set.push(entry);
    for (const [key] of old ?? []) if (!after.has(key)) gone.push(key);
  }
  return { set, gone };
}

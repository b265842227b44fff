// Events wait here until the lake has them for certain: in IndexedDB, in their order, through restarts of the browser.
// Those the lake refuses for good lie among the dead, with the reason, for the person to look at.

const VERSION = 1;
const MOST_DEAD = 500;

let opened = null;

function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("queue", VERSION);
    request.onupgradeneeded = () => {
      const waiting = request.result.createObjectStore("waiting", { autoIncrement: true });
      waiting.createIndex("id", "event.id", { unique: true });
      request.result.createObjectStore("dead", { autoIncrement: true });
    };
    request.onsuccess = () => {
      request.result.onclose = () => (opened = null);
      resolve(request.result);
    };
    request.onerror = () => {
      opened = null;
      reject(request.error);
    };
  });
  return opened;
}

/** Run `work(store, ...)` in one transaction; it is on disk when the promise is kept. */
async function within(stores, mode, work) {
  const transaction = (await database()).transaction(stores, mode, { durability: "strict" });
  const done = new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
  const result = work(...stores.map((name) => transaction.objectStore(name)));
  await done;
  return result;
}

function each(source, visit) {
  source.openCursor().onsuccess = ({ target: { result: cursor } }) => {
    if (cursor && visit(cursor) !== false) cursor.continue();
  };
}

/** Add events; one that waits already is passed over. They may wait until `notBefore` (ms) for what is learnt later. */
export const add = (events, notBefore = 0) =>
  within(["waiting"], "readwrite", (waiting) => {
    for (const event of events) {
      waiting.add({ event, notBefore }).onerror = (failure) => {
        if (failure.target.error.name !== "ConstraintError") return; // ends the transaction, and the promise is broken
        failure.preventDefault();
        failure.stopPropagation();
      };
    }
  });

/** Change the data of a waiting event; one that is gone is left alone. */
export const amend = (id, data) =>
  within(["waiting"], "readwrite", (waiting) => {
    waiting.index("id").openCursor(id).onsuccess = ({ target: { result: cursor } }) => {
      if (!cursor) return;
      const { event, notBefore } = cursor.value;
      cursor.update({ event: { ...event, data: { ...event.data, ...data } }, notBefore });
    };
  });

/** The oldest events that are due, at most so many and so many bytes, but at least one: [{seq, event}]. */
export async function due(most, bytes, now = Date.now()) {
  const found = [];
  let size = 0;
  await within(["waiting"], "readonly", (waiting) =>
    each(waiting, (cursor) => {
      const { event, notBefore } = cursor.value;
      if (notBefore > now) return true;
      size += JSON.stringify(event).length * 3; // never fewer bytes than in UTF-8
      if (found.length && size > bytes) return false;
      found.push({ seq: cursor.key, event });
      return found.length < most;
    }),
  );
  return found;
}

/** Take out what the lake has, and lay what it refuses among the dead: {seq: reason}. */
export const settle = (seqs, refused = new Map()) =>
  within(["waiting", "dead"], "readwrite", (waiting, dead) => {
    for (const seq of seqs) {
      if (!refused.has(seq)) {
        waiting.delete(seq);
        continue;
      }
      waiting.get(seq).onsuccess = ({ target: { result } }) => {
        if (result) dead.add({ event: result.event, reason: refused.get(seq), at: Date.now() });
        waiting.delete(seq);
      };
    }
    dead.count().onsuccess = ({ target: { result: count } }) => {
      let extra = count - MOST_DEAD;
      if (extra > 0) each(dead, (cursor) => (cursor.delete(), --extra > 0));
    };
  });

/** How many wait and how many are dead. */
export async function counts() {
  const found = { waiting: 0, dead: 0 };
  await within(["waiting", "dead"], "readonly", (waiting, dead) => {
    waiting.count().onsuccess = ({ target }) => (found.waiting = target.result);
    dead.count().onsuccess = ({ target }) => (found.dead = target.result);
  });
  return found;
}

/** The dead, newest first: [{seq, event, reason, at}]. */
export async function dead() {
  const found = [];
  await within(["dead"], "readonly", (store) =>
    each(store, (cursor) => void found.unshift({ seq: cursor.key, ...cursor.value })),
  );
  return found;
}

/** Let all the dead try again. */
export async function revive() {
  const some = await dead();
  await add(some.map(({ event }) => event));
  await within(["dead"], "readwrite", (store) => some.forEach(({ seq }) => store.delete(seq)));
}

/** Drop the dead. */
export const bury = () => within(["dead"], "readwrite", (store) => void store.clear());

/** Drop every event that `matches`, waiting or dead; how many. */
export async function drop(matches) {
  let gone = 0;
  await within(["waiting", "dead"], "readwrite", (...stores) => {
    for (const store of stores) {
      each(store, (cursor) => {
        if (matches(cursor.value.event)) {
          cursor.delete();
          gone += 1;
        }
      });
    }
  });
  return gone;
}

// What the person chose, and the key of this browser. Kept in local storage, which pages and the scripts in them
// cannot read.

import { api } from "./api.js";

const DEFAULTS = {
  address: "http://127.0.0.1:3747",
  key: null, // the secret, once paired
  name: null, // what the lake calls this browser
  profile: "",
  pausedUntil: 0, // milliseconds since 1970; Infinity cannot be stored, so FOREVER stands for it
  deny: [], // sites of which nothing is told: example.com, example.com/path
  visits: true,
  tabs: true,
  dwell: true,
  bookmarks: true,
  autoCapture: [], // sites whose pages are kept after 20 s of reading
  card: false, // "seen this before"
};

export const FOREVER = 8_640_000_000_000_000;

let turn = Promise.resolve();

/** All settings, those never set at their defaults. */
export async function settings() {
  const { settings: kept } = await api.storage.local.get("settings");
  return { ...DEFAULTS, ...kept };
}

/** Change some of them; changes follow one another, so that two pages never lose each other's. */
export function change(some) {
  turn = turn.catch(() => {}).then(async () => {
    const now = await settings();
    await api.storage.local.set({ settings: { ...now, ...(typeof some === "function" ? some(now) : some) } });
  });
  return turn;
}

/** Keep the key from scripts that run in pages, where the browser can. */
export async function lockStorage() {
  await api.storage.local.setAccessLevel?.({ accessLevel: "TRUSTED_CONTEXTS" });
}

// Time in front of the person: the active tab of the window in use, while the person is there or the page can be heard.

import { api, frontTab } from "./api.js";
import { silence } from "./policy.js";
import { settings } from "./settings.js";
import { instant, tell } from "./tell.js";
import { TITLE_MS } from "./visits.js";

const IDLE_S = 60;
const SHORTEST_MS = 1_000;
const LONGEST_MS = 300_000; // so that little is lost when the browser is killed

let turn = Promise.resolve();

/** Look anew at what is in front; `idle` tells the person's state where the browser just told it. */
export function look(idle) {
  turn = turn.catch(() => {}).then(() => compare(typeof idle === "string" ? idle : undefined));
  return turn;
}

async function compare(told) {
  const chosen = await settings();
  const { dwelling = null, idle: kept = "active" } = await api.storage.session.get(["dwelling", "idle"]);
  const idle = told ?? kept;
  if (idle !== kept) await api.storage.session.set({ idle });
  const next = await inFront(chosen, idle);
  const now = Date.now();
  const same = dwelling && next && dwelling.url === next.url && dwelling.tab === next.tab;
  if (same && now - dwelling.since < LONGEST_MS) return;
  // Written first: should the worker stop in between, the time is lost rather than counted twice.
  await api.storage.session.set({ dwelling: next && { ...next, since: now } });
  if (!dwelling) return;
  // The browser tells of idleness only after it has lasted; that time was not spent on the page.
  const until = told && told !== "active" && !dwelling.audible ? now - IDLE_S * 1000 : now;
  if (until - dwelling.since < SHORTEST_MS) return;
  const data = { url: dwelling.url, from: instant(dwelling.since), to: instant(until), audible: dwelling.audible };
  // Later than the visit it belongs to, which waits for its title.
  await tell("dwell", data, { url: dwelling.url }, { wait: TITLE_MS + 500 });
}

async function inFront(chosen, idle) {
  if (!chosen.dwell) return null;
  const tab = await frontTab();
  if (!tab || silence({ url: tab.url ?? "", incognito: tab.incognito }, chosen)) return null;
  const audible = Boolean(tab.audible);
  if (idle !== "active" && !audible) return null;
  const window = await api.windows.get(tab.windowId);
  return window.focused || audible ? { url: tab.url, tab: tab.id, audible } : null;
}

/** Listen. */
export function watch() {
  api.idle.setDetectionInterval(IDLE_S);
  api.idle.onStateChanged.addListener(look);
  api.tabs.onActivated.addListener(() => look());
  api.tabs.onRemoved.addListener(() => look());
  api.tabs.onUpdated.addListener((_, changed) => {
    if (changed.url || changed.audible !== undefined) void look();
  });
  api.windows.onFocusChanged.addListener(() => look());
}

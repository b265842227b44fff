// The open tabs, as one whole list: the newest counts, so none has to wait in the queue.

import { api, may } from "./api.js";
import { ask } from "./bridge.js";
import { silence } from "./policy.js";
import { connection, failed, reached, sendSoon } from "./sender.js";
import { settings } from "./settings.js";
import { event } from "./tell.js";

const SOON_MS = 700;
const HEARTBEAT_MS = 45_000; // the lake calls tabs live for 90 s

let timer = null;
let lastSent = 0;

/** Tell the tabs soon; a burst of changes is one list. */
export function tellSoon() {
  timer ??= setTimeout(() => {
    timer = null;
    void tellTabs();
  }, SOON_MS);
}

/** Tell the tabs if they have not been told for a while. */
export const heartbeat = () => (Date.now() - lastSent >= HEARTBEAT_MS ? tellTabs() : undefined);

/** The names of the tab groups by id; empty where the browser or the person does not let us see them. */
export async function groupNames() {
  if (!api.tabGroups?.query || !(await may("tabGroups"))) return new Map();
  return new Map((await api.tabGroups.query({})).map(({ id, title, color }) => [id, title || color]));
}

/** Send the list now. Never raises; true when the lake has it. */
export async function tellTabs() {
  const chosen = await settings();
  if (!chosen.key || !chosen.tabs || chosen.pausedUntil > Date.now()) return false;
  if ((await connection()).retryAt > Date.now()) return false;
  const [tabs, groups] = await Promise.all([api.tabs.query({}), groupNames()]);
  const list = tabs
    .filter((tab) => !silence({ url: tab.url ?? "", incognito: tab.incognito }, chosen))
    .map((tab) => ({
      tab: tab.id,
      window: tab.windowId,
      index: tab.index,
      url: tab.url,
      title: tab.title,
      active: tab.active,
      pinned: tab.pinned,
      audible: Boolean(tab.audible),
      discarded: Boolean(tab.discarded),
      group: groups.get(tab.groupId),
      last_accessed: tab.lastAccessed,
    }));
  try {
    await ask("/api/events", { events: [event("tabs", { tabs: list })] });
  } catch (error) {
    await failed(error);
    return false;
  }
  lastSent = Date.now();
  await reached();
  sendSoon();
  return true;
}

/** Listen. */
export function watch() {
  for (const name of ["onActivated", "onUpdated", "onRemoved", "onMoved", "onAttached", "onDetached", "onReplaced"]) {
    api.tabs[name].addListener(tellSoon);
  }
  api.windows.onFocusChanged.addListener(tellSoon);
}

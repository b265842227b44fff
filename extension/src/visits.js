// Visits: every page that a tab comes to, also within an application that changes its address by itself.

import { api, tabOf } from "./api.js";
import { silence } from "./policy.js";
import * as queue from "./queue.js";
import { settings } from "./settings.js";
import { tell } from "./tell.js";

/** How long a visit waits: a page tells its title a moment after it is shown. */
export const TITLE_MS = 2_500;

// tab -> {url, visit}: where a tab is, for the referrer and the title. Kept through restarts of this worker.
const places = {
  async get(tab) {
    const name = `place:${tab}`;
    return (await api.storage.session.get(name))[name] ?? null;
  },
  set: (tab, place) => api.storage.session.set({ [`place:${tab}`]: place }),
  drop: (tab) => api.storage.session.remove(`place:${tab}`),
};

async function visited({ tabId, frameId, url, timeStamp, transitionType, transitionQualifiers = [], documentLifecycle }) {
  if (frameId !== 0 || documentLifecycle === "prerender") return;
  const chosen = await settings();
  const tab = await tabOf(tabId);
  if (!tab) return;
  const before = await places.get(tabId);
  const page = { url, incognito: tab.incognito };
  if (!chosen.visits || silence(page, chosen)) {
    // What must not be told is no referrer either.
    await places.drop(tabId);
    return;
  }
  const referrer = before && before.url !== url && transitionType !== "typed" ? before.url : undefined;
  const data = {
    url,
    tab: tabId,
    window: tab.windowId,
    transition: transitionType,
    back_forward: transitionQualifiers.includes("forward_back") || undefined,
    referrer,
    active: tab.active,
  };
  const visit = await tell("visit", data, page, { at: timeStamp, wait: TITLE_MS });
  await places.set(tabId, { url, visit });
  // The title may have come while this was written.
  const now = await tabOf(tabId);
  if (now) await titled(tabId, { status: now.status }, now);
}

async function titled(tabId, changed, tab) {
  if (!changed.title && changed.status !== "complete") return;
  const place = await places.get(tabId);
  if (place?.visit && place.url === tab.url && tab.title) await queue.amend(place.visit, { title: tab.title });
}

/** Listen. Called once, when the worker starts. */
export function watch() {
  api.webNavigation.onCommitted.addListener(visited);
  api.webNavigation.onHistoryStateUpdated.addListener(visited);
  api.webNavigation.onReferenceFragmentUpdated.addListener(visited);
  api.tabs.onUpdated.addListener(titled);
  api.tabs.onRemoved.addListener(places.drop);
}

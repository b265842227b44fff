// What the browser remembers of the time before, once, when the person asks for it. history.search gives the last visit
// of each page alone, so that every page is asked for its visits.

import { api, may } from "./api.js";
import { silence } from "./policy.js";
import * as queue from "./queue.js";
import { sendSoon } from "./sender.js";
import { settings } from "./settings.js";
import { event } from "./tell.js";

const AT_ONCE = 200;

let running = null;

/** How far the back-fill is: {pages, done, visits, finishedAt}, or null when none was made. */
export async function progress() {
  return (await api.storage.local.get("backfill")).backfill ?? null;
}

/** Queue every visit that the browser remembers; a second call joins the first. Raises Error without permission. */
export function backfill() {
  running ??= run().finally(() => (running = null));
  return running;
}

async function run() {
  if (!(await may("history"))) throw new Error("The browser has not been allowed to tell its history");
  const chosen = await settings();
  const pages = await api.history.search({ text: "", startTime: 0, maxResults: 1_000_000 });
  const told = pages.filter(({ url }) => !silence({ url }, chosen));
  let visits = 0;
  for (let at = 0; at < told.length; at += AT_ONCE) {
    const some = told.slice(at, at + AT_ONCE);
    const known = await Promise.all(some.map(({ url }) => api.history.getVisits({ url })));
    const events = known.flatMap((each, place) =>
      each
        // Those of other devices come with the history of those devices.
        .filter((visit) => visit.isLocal !== false && visit.visitTime)
        .map((visit) => visitEvent(some[place], visit)),
    );
    await queue.add(events);
    visits += events.length;
    const done = Math.min(at + AT_ONCE, told.length);
    await api.storage.local.set({ backfill: { pages: told.length, done, visits, finishedAt: null } });
  }
  const result = { pages: told.length, done: told.length, visits, finishedAt: Date.now() };
  await api.storage.local.set({ backfill: result });
  sendSoon();
  return result;
}

function visitEvent({ url, title }, { visitTime, transition, visitId }) {
  const made = event("visit", { url, title: title || undefined, transition, from_history: true }, visitTime);
  // The same visit asked for again is the same event.
  return { ...made, id: `history:${visitId}:${Math.round(visitTime)}` };
}

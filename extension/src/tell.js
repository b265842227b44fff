// The one way by which anything leaves a page for the queue: through the policy.

import { silence } from "./policy.js";
import * as queue from "./queue.js";
import { sendSoon } from "./sender.js";
import { settings } from "./settings.js";

/** ISO 8601 in UTC with microseconds, of milliseconds that may have a fraction. */
export function instant(milliseconds) {
  let whole = Math.floor(milliseconds);
  let micros = Math.round((milliseconds - whole) * 1000);
  if (micros === 1000) [whole, micros] = [whole + 1, 0];
  return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

/** An event as the lake takes it. */
export const event = (kind, data, at = Date.now()) => ({ id: crypto.randomUUID(), kind, at: instant(at), data });

/**
 * Queue an event about `page` ({url, incognito}). Its id, or null when nothing may be told. `wait` holds it back for so
 * many milliseconds.
 */
export async function tell(kind, data, page, { at, wait = 0 } = {}) {
  if (silence(page, await settings())) return null;
  const made = event(kind, data, at);
  await queue.add([made], wait ? Date.now() + wait : 0);
  sendSoon(wait + 500);
  return made.id;
}

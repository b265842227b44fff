// Sends what waits. After a failure it tries again after 1, 2, 4, 8, then every 16 minutes; what the person does, and a
// server that answers, make it try at once.

import { api } from "./api.js";
import { Refused, ask } from "./bridge.js";
import * as queue from "./queue.js";
import { settings } from "./settings.js";

const MOST_EVENTS = 500;
const MOST_BYTES = 3_000_000;
const LONGEST_WAIT_MIN = 16;
export const ALARM = "send";

let running = null;
let timer = null;

/** The last word about the connection: {failures, retryAt, problem, sentAt}. */
export async function connection() {
  const { connection: kept } = await api.storage.local.get("connection");
  return { failures: 0, retryAt: 0, problem: null, sentAt: 0, ...kept };
}

const note = async (some) => api.storage.local.set({ connection: { ...(await connection()), ...some } });

/** The server answered: whatever was wrong is over. */
export async function reached() {
  if ((await connection()).failures) await note({ failures: 0, retryAt: 0, problem: null });
}

/** The server could not be reached, or refuses this browser: when to try next. */
export async function failed(error) {
  const { failures } = await connection();
  const minutes = Math.min(2 ** failures, LONGEST_WAIT_MIN);
  await note({ failures: failures + 1, retryAt: Date.now() + minutes * 60_000, problem: error.message });
  await api.alarms.create(ALARM, { delayInMinutes: minutes });
}

/** Send soon; several calls within the time are one. */
export function sendSoon(milliseconds = 1_000) {
  timer ??= setTimeout(() => {
    timer = null;
    void send();
  }, milliseconds);
  // Should this worker be stopped before that, the alarm wakes it.
  void api.alarms.get(ALARM).then((set) => set ?? api.alarms.create(ALARM, { delayInMinutes: 0.5 }));
}

/** Send all that is due. `now` does not wait for the time of the next try. Never raises. */
export function send({ now = false } = {}) {
  running ??= run(now).finally(() => (running = null));
  return running;
}

async function run(now) {
  const { key } = await settings();
  if (!key) return;
  if (!now && (await connection()).retryAt > Date.now()) return;
  let most = MOST_EVENTS;
  try {
    for (;;) {
      const batch = await queue.due(most, MOST_BYTES);
      if (!batch.length) break;
      try {
        await deliver(batch);
      } catch (error) {
        if (!(error instanceof Refused) || ![400, 413].includes(error.status)) throw error;
        // Too much at once, or one that spoils the rest: by halves, until the one is found.
        if (batch.length > 1) most = Math.ceil(batch.length / 2);
        else await queue.settle([batch[0].seq], new Map([[batch[0].seq, error.message]]));
        continue;
      }
      most = MOST_EVENTS;
    }
  } catch (error) {
    await failed(error instanceof Refused ? error : new Refused(0, String(error)));
    return;
  }
  // Those that wait for their title come later.
  if ((await queue.counts()).waiting) sendSoon(2_500);
  else await api.alarms.clear(ALARM);
}

async function deliver(batch) {
  const told = await ask("/api/events", { events: batch.map(({ event }) => event) });
  const reasons = new Map((told.rejected ?? []).map(({ id, reason }) => [id, reason]));
  const refused = new Map(
    batch.filter(({ event }) => reasons.has(event.id)).map(({ seq, event }) => [seq, reasons.get(event.id)]),
  );
  await queue.settle(batch.map(({ seq }) => seq), refused);
  await note({ failures: 0, retryAt: 0, problem: null, sentAt: Date.now() });
}

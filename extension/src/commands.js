// What an assistant or the command line asks of this browser: taken from the lake one by one, done, and reported.

import { api, tabOf } from "./api.js";
import { Refused, ask } from "./bridge.js";
import { connection, failed, reached, sendSoon } from "./sender.js";
import { settings } from "./settings.js";
import { heartbeat, tellTabs } from "./tabs.js";
import { archive, closeTabs, groupTabs, isPage, openAgain, ungroupTabs } from "./windows.js";

const POLL_S = 20; // shorter than the 30 s after which a worker without work is stopped

const DO = {
  async capture_page({ tab: id, url }) {
    const tab = await tabOf(id);
    if (!tab || !isPage(tab.url, url)) throw new Error("the tab is gone or shows another page");
    return { captured: await archive(tab) };
  },
  close_tabs: ({ tabs }, id) => closeTabs(tabs, id),
  open_tabs: ({ closed_by: id }) => openAgain(id),
  group_tabs: ({ groups }) => groupTabs(groups),
  ungroup_tabs: ({ tabs }) => ungroupTabs(tabs),
};

let polling = null;

/** Wait for commands as long as this worker lives; called again it changes nothing. */
export function poll() {
  polling ??= listen().finally(() => (polling = null));
  return polling;
}

async function listen() {
  for (;;) {
    const { key, pausedUntil } = await settings();
    if (!key || pausedUntil > Date.now() || (await connection()).retryAt > Date.now()) return;
    try {
      const { commands } = await ask(`/api/commands?wait=${POLL_S}`, undefined, { seconds: POLL_S + 10 });
      await reached();
      for (const command of commands) await obey(command);
    } catch (error) {
      await failed(error instanceof Refused ? error : new Refused(0, String(error)));
      return;
    }
    await heartbeat();
    // Any call of the API keeps the worker for another 30 s.
    await api.runtime.getPlatformInfo();
  }
}

async function obey({ id, kind, data }) {
  let answer;
  try {
    if (!Object.hasOwn(DO, kind)) throw new Error(`this extension does not know the command ${kind}`);
    answer = { ok: true, result: await DO[kind](data, id) };
  } catch (error) {
    answer = { ok: false, result: error.message };
  }
  try {
    await ask(`/api/commands/${id}`, answer);
  } catch (error) {
    // It was done but could not be told, or came too late. A server that is gone ends the loop at the next poll.
    if (error.passing) throw error;
  }
  await tellTabs();
  sendSoon();
}

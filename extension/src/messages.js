// What the popup and the options ask of the worker, and the little that a script in a page may ask.

import { api, frontTab, tabOf } from "./api.js";
import { Refused, asAddress, ask } from "./bridge.js";
import { NotRead, because, capture } from "./capture.js";
import * as history from "./history.js";
import { covers, silence } from "./policy.js";
import * as queue from "./queue.js";
import * as sender from "./sender.js";
import { change, settings } from "./settings.js";
import { tellTabs } from "./tabs.js";
import { event } from "./tell.js";
import { closeTabs, closedBefore, groupTabs, openAgain } from "./windows.js";

const OWN = {
  /** What the popup shows. */
  async status({ tab: id }) {
    const [own, { waiting, dead }, connection, tab] = await Promise.all([
      settings(),
      queue.counts(),
      sender.connection(),
      id === undefined ? frontTab() : tabOf(id),
    ]);
    const reason = tab ? silence({ url: tab.url ?? "", incognito: tab.incognito }, own) : "scheme";
    const closed = (await closedBefore()).at(-1);
    return {
      paired: Boolean(own.key),
      name: own.name,
      pausedUntil: own.pausedUntil,
      waiting,
      dead,
      connection,
      page: tab && { id: tab.id, url: tab.url, title: tab.title, incognito: tab.incognito },
      reason,
      because: because(reason),
      undo: closed?.tabs.length ?? 0,
    };
  },

  async pair({ code, name, profile, address }) {
    const at = asAddress(address);
    if (!at) throw new Error("The address must be one of this machine, such as http://127.0.0.1:3747");
    const body = { code: code.trim(), name: name.trim(), browser: await browserName(), profile: profile.trim() };
    const made = await ask("/api/pair", body, { address: at, key: null });
    await change({ address: at, key: made.key, name: made.name, profile: body.profile });
    await sender.reached();
    await tellTabs();
    return { name: made.name };
  },

  /** Forget the key. What waits is kept for the next pairing. */
  unpair: () => change({ key: null, name: null }),

  async capture({ tab: id }) {
    const tab = await tabOf(id);
    if (!tab) throw new NotRead("The tab is closed");
    const made = await capture(tab);
    await sender.send({ now: true });
    return { id: made };
  },

  async note({ text, tab: id }) {
    const own = await settings();
    if (!own.key) throw new Error(because("unpaired"));
    const tab = id === undefined ? null : await tabOf(id);
    const known = tab && !silence({ url: tab.url ?? "", incognito: tab.incognito }, own);
    // A note is the person's own words: it is kept where pages are not told of, without the page.
    const data = { text: text.trim(), ...(known ? { url: tab.url, title: tab.title } : {}) };
    if (!data.text) throw new Error("There is nothing to keep");
    const made = event("note", data);
    await queue.add([made]);
    await sender.send({ now: true });
    return { id: made.id };
  },

  search: ({ query }) => ask("/api/search", { query, limit: 8 }, { seconds: 20 }),

  /** Tabs that may go, and why; as the lake sees them. */
  async cleanup() {
    if (!(await tellTabs())) throw new Error((await sender.connection()).problem ?? "Tabs are not told to Brainlake");
    return ask("/api/cleanup", {});
  },

  async close({ tabs, plan }) {
    const done = await closeTabs(tabs, plan);
    await tellTabs();
    return done;
  },

  /** Group the tabs as the lake suggests. */
  async group() {
    if (!(await tellTabs())) throw new Error((await sender.connection()).problem ?? "Tabs are not told to Brainlake");
    const { groups } = await ask("/api/suggest-grouping", {});
    const done = groups.length ? await groupTabs(groups) : { grouped: [], failed: [] };
    await tellTabs();
    return done;
  },

  async undo() {
    const done = await openAgain();
    await tellTabs();
    return done;
  },

  /** Tell nothing of this site or page from now on, and drop what waits of it. */
  async deny({ entry }) {
    await change(({ deny }) => ({ deny: deny.includes(entry) ? deny : [...deny, entry] }));
    const dropped = await queue.drop(({ data }) => {
      try {
        return [data.url, data.referrer].some((url) => url && covers(entry, new URL(url)));
      } catch {
        return false;
      }
    });
    return { dropped };
  },

  send: async () => {
    await sender.send({ now: true });
    return { ...(await queue.counts()), connection: await sender.connection() };
  },
  dead: async () => ({ dead: await queue.dead() }),
  revive: async () => {
    await queue.revive();
    await sender.send({ now: true });
  },
  bury: () => queue.bury(),
  backfill: () => history.backfill(),
  progress: async () => ({ backfill: await history.progress() }),
};

// Scripts in pages: whatever they say, they are taken for the page they run in.
const FROM_PAGES = {
  async reading(_, tab) {
    const { autoCapture } = await settings();
    const url = new URL(tab.url);
    if (autoCapture.some((site) => covers(site, url))) await capture(tab);
  },

  /** What the card shows: {seen: {title, url, last_visited} or null}. */
  async seen({ text }, tab) {
    const own = await settings();
    if (!own.card || silence({ url: tab.url, incognito: tab.incognito }, own)) return { seen: null };
    const page = { url: tab.url, title: tab.title ?? "", text: String(text).slice(0, 20_000) };
    const { seen } = await ask("/api/check-context", page, { seconds: 15 });
    if (!/^https?:\/\//.test(seen?.url ?? "")) return { seen: null };
    return { seen: { title: seen.title || seen.url, url: seen.url, last_visited: seen.last_visited } };
  },
};

async function browserName() {
  const brands = (navigator.userAgentData?.brands ?? []).map(({ brand }) => brand).join(" ");
  const agent = navigator.userAgent;
  if (navigator.brave) return "brave";
  if (/Edg/.test(agent)) return "edge";
  if (/OPR/.test(agent)) return "opera";
  if (/Vivaldi/.test(brands + agent)) return "vivaldi";
  if (/Firefox/.test(agent)) return "firefox";
  return /Google Chrome/.test(brands) ? "chrome" : "chromium";
}

/** Listen. Every answer is {ok: true, ...} or {ok: false, error}. */
export function watch() {
  api.runtime.onMessage.addListener((message, from, answer) => {
    const own = from.id === api.runtime.id && (from.url ?? "").startsWith(api.runtime.getURL(""));
    const known = own ? OWN : FROM_PAGES;
    if (!message || !Object.hasOwn(known, message.do)) return false;
    known[message.do](message, from.tab).then(
      (told) => answer({ ok: true, ...told }),
      (error) => answer({ ok: false, error: error.message, status: error instanceof Refused ? error.status : undefined }),
    );
    return true;
  });
}

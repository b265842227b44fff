// What a plan does to tabs: closing them after their text is safe, opening them again as they were, grouping them.
// A tab is only touched while it is still the page the plan speaks of.

import { api, may, tabOf } from "./api.js";
import { ask } from "./bridge.js";
import { NotRead, read } from "./capture.js";
import { event } from "./tell.js";

const COLOURS = ["grey", "blue", "red", "yellow", "green", "pink", "purple", "cyan", "orange"];

const groupsKnown = async () => Boolean(api.tabs.group && api.tabGroups?.get && (await may("tabGroups")));

// The lake masks secrets in addresses as ~ and 12 digits; what stands in such a place is not compared.
const MASK = /~[0-9a-f]{12}/;

/** Whether a tab's exact address is the one that the lake knows, which may be masked. */
export function isPage(exact, known) {
  const parts = known.split(MASK);
  if (parts.length === 1) return exact === known;
  let at = parts[0].length;
  if (!exact.startsWith(parts[0])) return false;
  for (const part of parts.slice(1, -1)) {
    const found = exact.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  const last = parts.at(-1);
  return exact.length - last.length >= at && exact.endsWith(last);
}

/** Why a tab must stay, or null. */
function mustStay(tab, url) {
  if (!tab) return "it is closed already";
  if (!isPage(tab.url, url)) return "it shows another page by now";
  if (tab.incognito) return "it is in a private window";
  if (tab.active) return "it is the active tab of its window";
  if (tab.pinned) return "it is pinned";
  if (tab.audible) return "it plays sound";
  return null;
}

/**
 * Close tabs [{tab, url, archive}], where `archive` is set only after the lake has the page's text:
 * {closed: [tab], kept: [{tab, reason}]}. What was closed can be opened again by the name `by`; exact addresses stay here.
 */
export async function closeTabs(wanted, by) {
  const closed = [];
  const kept = [];
  // Before the first is closed: with each that goes, those to its right move.
  const places = new Map((await api.tabs.query({})).map(({ id, index }) => [id, index]));
  for (const { tab: id, url, archive: textFirst } of wanted) {
    const stay = (reason) => kept.push({ tab: id, reason });
    try {
      const before = mustStay(await tabOf(id), url);
      if (before) {
        stay(before);
        continue;
      }
      if (textFirst) await archive(await api.tabs.get(id));
      // The page may have come to the front while it was read.
      const tab = await tabOf(id);
      const after = mustStay(tab, url);
      if (after) {
        stay(after);
        continue;
      }
      await remember(by, await asItWas(tab, places.get(id)));
      await api.tabs.remove(id);
      closed.push(id);
    } catch (error) {
      stay(error.message);
    }
  }
  return { closed, kept };
}

/** Store the text of a tab and see that the lake has it; the event's id. Raises NotRead, Refused. */
export async function archive(tab) {
  if (tab.discarded) throw new NotRead("its text cannot be read while it sleeps");
  const page = await read(tab);
  const made = event("capture", page);
  const told = await ask("/api/events", { events: [made] });
  if (told.accepted + told.duplicate !== 1) {
    throw new NotRead(`its text was refused: ${told.rejected?.[0]?.reason ?? "no reason told"}`);
  }
  return made.id;
}

async function asItWas(tab, index) {
  let group = null;
  if (tab.groupId > -1 && (await groupsKnown())) {
    const { id, title, color } = await api.tabGroups.get(tab.groupId);
    group = { id, title, color };
  }
  const { id, windowId, url, title, pinned } = tab;
  return { tab: id, window: windowId, index: index ?? tab.index, url, title, pinned, group };
}

const MOST_PLANS = 20;

/** What was closed and can be opened again: [{by, at, tabs}], the newest last. */
export async function closedBefore() {
  return (await api.storage.local.get("closed")).closed ?? [];
}

async function remember(by, was) {
  const plans = await closedBefore();
  const plan = plans.find((one) => one.by === by);
  if (plan) plan.tabs.push(was);
  else plans.push({ by, at: Date.now(), tabs: [was] });
  await api.storage.local.set({ closed: plans.slice(-MOST_PLANS) });
}

/**
 * Open again what was closed by this name, the last ones where none is given: {opened: [tab], kept: [{tab, reason}]}.
 * What cannot be opened can be tried again. Raises Error where nothing was closed.
 */
export async function openAgain(by) {
  const plans = await closedBefore();
  const plan = by === undefined ? plans.at(-1) : plans.find((one) => one.by === by);
  if (!plan) throw new Error("nothing was closed that could be opened again");
  const opened = [];
  const kept = [];
  const left = [];
  const windows = new Map();
  const groups = new Map();
  // From left to right, so that each finds its place.
  for (const was of [...plan.tabs].sort((a, b) => a.window - b.window || a.index - b.index)) {
    try {
      const tab = await openOne(was, windows);
      if (was.group) await intoGroup(tab, was.group, groups);
      opened.push(tab.id);
    } catch (error) {
      left.push(was);
      kept.push({ tab: was.tab, reason: error.message });
    }
  }
  const others = plans.filter((one) => one !== plan);
  await api.storage.local.set({ closed: left.length ? [...others, { ...plan, tabs: left }] : others });
  return { opened, kept };
}

async function openOne(was, windows) {
  const { url, index, pinned = false } = was;
  if (!windows.has(was.window)) {
    try {
      windows.set(was.window, (await api.windows.get(was.window)).id);
    } catch {
      // Its window is gone: all tabs of that window meet in one new one.
      const made = await api.windows.create({ url, focused: false });
      windows.set(was.window, made.id);
      const [tab] = made.tabs ?? (await api.tabs.query({ windowId: made.id }));
      return pinned ? api.tabs.update(tab.id, { pinned }) : tab;
    }
  }
  return api.tabs.create({ windowId: windows.get(was.window), index, url, pinned, active: false });
}

async function intoGroup(tab, { id, title, color }, made) {
  if (!(await groupsKnown())) return;
  const name = `${tab.windowId}/${id ?? title}`;
  let groupId = made.get(name);
  if (groupId === undefined) {
    const there = await api.tabGroups.query({ windowId: tab.windowId });
    groupId = there.find((group) => group.id === id || (title && group.title === title))?.id;
  }
  const createProperties = { windowId: tab.windowId };
  const joined = await api.tabs.group(
    groupId === undefined ? { tabIds: [tab.id], createProperties } : { tabIds: [tab.id], groupId },
  );
  if (groupId === undefined) await api.tabGroups.update(joined, { title, color });
  made.set(name, joined);
}

/** Group tabs [{name, color, tabs: [id]}]: {grouped: [{name, group, tabs}], failed: [{name, reason}]}. */
export async function groupTabs(wanted) {
  if (!(await groupsKnown())) throw new Error("tab groups are not allowed; allow them in Brainlake's options");
  const grouped = [];
  const failed = [];
  for (const { name, color, tabs } of wanted) {
    try {
      const there = (await Promise.all(tabs.map(tabOf))).filter((tab) => tab && !tab.pinned && !tab.incognito);
      if (!there.length) throw new Error("none of its tabs is open");
      const windowId = there[0].windowId;
      const tabIds = there.map(({ id }) => id);
      const group = await api.tabs.group({ tabIds, createProperties: { windowId } });
      await api.tabGroups.update(group, { title: name, ...(COLOURS.includes(color) ? { color } : {}) });
      grouped.push({ name, group, tabs: tabIds });
    } catch (error) {
      failed.push({ name, reason: error.message });
    }
  }
  return { grouped, failed };
}

/** Take tabs out of their groups; closed ones are passed over. */
export async function ungroupTabs(tabs) {
  const there = (await Promise.all(tabs.map(tabOf))).filter(Boolean).map(({ id }) => id);
  if (there.length) await api.tabs.ungroup(there);
  return { ungrouped: there };
}

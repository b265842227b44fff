// The worker: listeners are set first and at once, so that the browser can wake it for them.

import { api, frontTab } from "./api.js";
import * as bookmarks from "./bookmarks.js";
import * as commands from "./commands.js";
import * as dwell from "./dwell.js";
import * as menus from "./menus.js";
import * as messages from "./messages.js";
import * as omnibox from "./omnibox.js";
import * as sender from "./sender.js";
import { lockStorage } from "./settings.js";
import * as sites from "./sites.js";
import * as tabs from "./tabs.js";
import * as visits from "./visits.js";

const BEAT = "beat";

visits.watch();
tabs.watch();
dwell.watch();
menus.watch();
omnibox.watch();
bookmarks.watch();
messages.watch();

api.permissions.onAdded.addListener(() => {
  bookmarks.watch();
  void sites.register();
  tabs.tellSoon();
});
api.permissions.onRemoved.addListener(() => void sites.register());

api.commands.onCommand.addListener(async (name) => {
  const tab = name === "capture" ? await frontTab() : null;
  if (tab) await menus.captureAndShow(tab);
});

api.runtime.onInstalled.addListener(async ({ reason }) => {
  await menus.install();
  await sites.register();
  if (reason === "install") await api.runtime.openOptionsPage();
});

api.storage.onChanged.addListener((changed, area) => {
  if (area !== "local" || !changed.settings) return;
  const { oldValue = {}, newValue = {} } = changed.settings;
  const differs = (name) => JSON.stringify(oldValue[name]) !== JSON.stringify(newValue[name]);
  if (differs("autoCapture") || differs("card")) void sites.register();
  if (differs("key") || differs("pausedUntil") || differs("deny") || differs("tabs")) {
    tabs.tellSoon();
    void dwell.look();
    void commands.poll();
  }
});

api.alarms.onAlarm.addListener(({ name }) => {
  if (name === sender.ALARM) void sender.send();
  if (name === BEAT) {
    void tabs.heartbeat();
    void dwell.look();
    void commands.poll();
  }
});

void lockStorage();
void api.alarms.get(BEAT).then((set) => set ?? api.alarms.create(BEAT, { periodInMinutes: 0.5 }));
tabs.tellSoon();
sender.sendSoon();
void commands.poll();

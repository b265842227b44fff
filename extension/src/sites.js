// The scripts that run in pages, none of them unless the person chose so: capture after 20 s of reading on chosen sites,
// and the card "seen this before".

import { api } from "./api.js";
import { settings } from "./settings.js";

export const EVERYWHERE = ["http://*/*", "https://*/*"];

/** What the browser must allow for sites: their domains and all below them. */
export const patternsOf = (sites) =>
  [...new Set(sites.map((site) => site.split("/")[0]))].flatMap((domain) =>
    // Not `*://`: a browser that allows both schemes apart calls that not allowed.
    ["http", "https"].map((scheme) => `${scheme}://*.${domain}/*`),
  );

/** Bring the registered scripts in line with the settings and the permissions. */
export async function register() {
  const { autoCapture, card } = await settings();
  const allowed = [];
  for (const pattern of patternsOf(autoCapture)) {
    if (await api.permissions.contains({ origins: [pattern] })) allowed.push(pattern);
  }
  const wanted = [];
  if (allowed.length) wanted.push({ id: "reading", js: ["content/reading.js"], matches: allowed });
  if (card && (await api.permissions.contains({ origins: EVERYWHERE }))) {
    wanted.push({ id: "card", js: ["content/card.js"], matches: EVERYWHERE });
  }
  const there = await api.scripting.getRegisteredContentScripts();
  if (there.length) await api.scripting.unregisterContentScripts({ ids: there.map(({ id }) => id) });
  if (wanted.length) await api.scripting.registerContentScripts(wanted);
}

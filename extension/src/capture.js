// The text of a page, taken when the person asks for it, when they chose so for its site, or when an assistant asks.

import { api } from "./api.js";
import { silence } from "./policy.js";
import { settings } from "./settings.js";
import { tell } from "./tell.js";

/** Nothing could be read; the message is for people. */
export class NotRead extends Error {}

const WHY = {
  unpaired: "This browser is not paired with Brainlake yet",
  paused: "Brainlake is paused",
  private: "Nothing is kept of private windows",
  scheme: "Only web pages can be kept",
  own: "This is Brainlake itself",
  denied: "This site is on your deny list",
};

/** What to say where nothing may be told. */
export const because = (reason) => WHY[reason] ?? null;

/** The text of a tab: {url, title, text, excerpt, byline, lang}. Raises NotRead. */
export async function read(tab) {
  const reason = silence({ url: tab.url ?? "", incognito: tab.incognito }, await settings());
  if (reason) throw new NotRead(WHY[reason]);
  const page = await extracted(tab.id);
  if (!page?.text) throw new NotRead("There is no text on this page");
  return page;
}

async function extracted(tabId) {
  // Readability is there in a built extension; content/extract.js does without where it is not.
  for (const files of [["lib/Readability.js", "content/extract.js"], ["content/extract.js"]]) {
    try {
      const [{ result }] = await api.scripting.executeScript({ target: { tabId }, files });
      return result;
    } catch (error) {
      if (!/lib\/Readability|could not load/i.test(String(error))) {
        throw new NotRead("The browser does not let this page be read");
      }
    }
  }
  return null;
}

/** Read a tab and queue its text; the event's id. Raises NotRead. */
export async function capture(tab) {
  const page = await read(tab);
  const id = await tell("capture", page, { url: page.url, incognito: tab.incognito });
  if (!id) throw new NotRead("This page may not be kept");
  return id;
}

/** The selected words of a tab, with their line breaks where the page can be read. */
export async function selection(tabId, told) {
  try {
    const func = () => globalThis.getSelection().toString();
    const [{ result }] = await api.scripting.executeScript({ target: { tabId }, func });
    return result || told;
  } catch {
    return told;
  }
}

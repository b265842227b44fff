// The context menu: keep what is selected, a link, a page.

import { api } from "./api.js";
import { because, capture, selection } from "./capture.js";
import { silence } from "./policy.js";
import { settings } from "./settings.js";
import { tell } from "./tell.js";

const ITEMS = [
  { id: "highlight", title: "Keep as a highlight", contexts: ["selection"] },
  { id: "link", title: "Keep this link as a bookmark", contexts: ["link"] },
  { id: "page", title: "Keep the text of this page", contexts: ["page"] },
];

/** Show for a moment on the icon how it went. */
export async function flash(ok, why = "") {
  await api.action.setBadgeBackgroundColor({ color: ok ? "#0f766e" : "#b42318" });
  await api.action.setBadgeText({ text: ok ? "✓" : "!" });
  await api.action.setTitle({ title: ok ? "Brainlake" : `Brainlake: ${why}` });
  setTimeout(() => api.action.setBadgeText({ text: "" }), 2_500);
}

/** Keep the text of a tab and show how it went. */
export async function captureAndShow(tab) {
  try {
    await capture(tab);
    await flash(true);
  } catch (error) {
    await flash(false, error.message);
  }
}

async function chosen(info, tab) {
  if (info.menuItemId === "page") return captureAndShow(tab);
  const page = { url: tab?.url ?? info.pageUrl, incognito: tab?.incognito ?? false };
  const about = info.menuItemId === "link" ? { ...page, url: info.linkUrl } : page;
  // A link on a page of which nothing is told would tell of the page: both must be allowed.
  const own = await settings();
  const reason = silence(page, own) ?? silence(about, own);
  if (reason) return flash(false, because(reason));
  if (info.menuItemId === "highlight") {
    const text = await selection(tab.id, info.selectionText);
    await tell("highlight", { url: page.url, title: tab.title, text }, page);
  } else {
    const title = info.selectionText || info.linkUrl;
    await tell("bookmark", { url: info.linkUrl, title, folder: ["Saved links"], change: "added" }, about);
  }
  return flash(true);
}

/** Make the items anew, once after installation. */
export async function install() {
  await api.contextMenus.removeAll();
  for (const item of ITEMS) api.contextMenus.create(item);
}

/** Listen. */
export function watch() {
  api.contextMenus.onClicked.addListener(chosen);
}

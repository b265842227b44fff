// The browser's extension API. Firefox calls it `browser`, Chromium `chrome`; both give promises.

export const api = globalThis.browser ?? globalThis.chrome;

/** Whether this is Firefox; newer Chromium knows `browser` as well. */
export const isFirefox = api.runtime.getURL("").startsWith("moz-");

/** Whether an optional permission is there now. Its API appears with it and may vanish with it. */
export const may = (permission) => api.permissions.contains({ permissions: [permission] });

/** The tab, or null when it is gone. */
export async function tabOf(id) {
  try {
    return await api.tabs.get(id);
  } catch {
    return null;
  }
}

/** The tab in front of the person, or null. */
export async function frontTab() {
  const [tab] = await api.tabs.query({ active: true, lastFocusedWindow: true });
  return tab ?? null;
}

// What may be told. Asked before anything is read from a page, kept or sent; pure, so that it can be tested alone.

/** The site of an entry as people type it ("www.Example.com/a?b" is example.com/a); null when it is none. */
export function asEntry(typed) {
  const text = typed.trim();
  if (!text) return null;
  try {
    const url = new URL(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
    if (!/^https?:$/.test(url.protocol) || !url.hostname || /[*\s%]/.test(url.hostname)) return null;
    const path = url.pathname.replace(/\/+$/, "");
    return url.hostname.replace(/^www\./, "") + path;
  } catch {
    return null;
  }
}

/** Whether an entry covers a URL: its domain and all below it, and its path and all below that. */
export function covers(entry, url) {
  const slash = entry.indexOf("/");
  const domain = slash < 0 ? entry : entry.slice(0, slash);
  const path = slash < 0 ? "" : entry.slice(slash);
  const host = url.hostname.replace(/\.$/, "");
  if (host !== domain && !host.endsWith(`.${domain}`)) return false;
  return !path || url.pathname === path || url.pathname.startsWith(`${path}/`);
}

/**
 * Why nothing may be told of a page, or null when it may: "unpaired", "paused", "private", "scheme" (neither http nor
 * https), "own" (the lake's own server), "denied".
 */
export function silence({ url, incognito = false }, settings, now = Date.now()) {
  if (!settings.key) return "unpaired";
  if (settings.pausedUntil > now) return "paused";
  if (incognito) return "private";
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    return "scheme";
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") return "scheme";
  if (parsed.origin === settings.address) return "own";
  return settings.deny.some((entry) => covers(entry, parsed)) ? "denied" : null;
}

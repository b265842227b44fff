// "b", space, words in the address bar: the lake's own search.

import { api, isFirefox } from "./api.js";
import { ask } from "./bridge.js";

const escaped = (text) =>
  text.replace(/[<>&"']/g, (mark) => `&#${mark.codePointAt(0)};`).replace(/[\u0000-\u001f\ufffe\uffff]/g, " ");

let newest = 0;

async function suggest(text, show) {
  const own = ++newest;
  const query = text.trim();
  if (query.length < 2) return;
  await new Promise((resolve) => setTimeout(resolve, 150)); // while the person types on
  if (own !== newest) return;
  try {
    const { results } = await ask("/api/search", { query, limit: 6 }, { seconds: 5 });
    if (own !== newest) return;
    show(
      results
        .filter(({ url }) => /^https?:\/\//.test(url ?? ""))
        .map(({ url, title }) => ({
          content: url,
          description: isFirefox
            ? `${title ?? ""} – ${url}`
            : `${escaped(title || url)} <dim>–</dim> <url>${escaped(url)}</url>`,
        })),
    );
  } catch {
    // Without the server there are no suggestions; Enter opens the search, which says so.
  }
}

async function enter(text, disposition) {
  const url = /^https?:\/\//.test(text)
    ? text
    : api.runtime.getURL(`popup/popup.html?q=${encodeURIComponent(text.trim())}`);
  if (disposition === "currentTab") await api.tabs.update({ url });
  else await api.tabs.create({ url, active: disposition === "newForegroundTab" });
}

/** Listen. */
export function watch() {
  api.omnibox.setDefaultSuggestion({ description: "Search your lake" });
  api.omnibox.onInputChanged.addListener(suggest);
  api.omnibox.onInputEntered.addListener(enter);
}

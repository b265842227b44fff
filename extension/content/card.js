// "Seen this before": a small card in the corner, in a shadow tree that the page can neither style nor read.

(() => {
  const SETTLED_MS = 2_000;
  const SHOWN_MS = 15_000;
  const SHORTEST = 200;

  async function look() {
    const main = document.querySelector("article, main, [role=main]") ?? document.body;
    const text = main?.innerText ?? "";
    if (text.trim().length < SHORTEST || !chrome.runtime?.id) return;
    const told = await chrome.runtime.sendMessage({ do: "seen", text: text.slice(0, 20_000) }).catch(() => null);
    if (told?.ok && told.seen && /^https?:\/\//.test(told.seen.url)) show(told.seen);
  }

  function show({ title, url, last_visited: last }) {
    const host = document.createElement("aside");
    const root = host.attachShadow({ mode: "closed" });
    const style = document.createElement("style");
    style.textContent = `
      :host { all: initial; position: fixed; right: 16px; bottom: 16px; z-index: 2147483647; color-scheme: light dark; }
      div { font: 14px/1.4 system-ui, sans-serif; width: 300px; padding: 12px 14px; border-radius: 12px;
            background: light-dark(#ffffff, #18211f); color: light-dark(#16211f, #e8efee);
            border: 1px solid light-dark(#d9e0e0, #2d3a38); box-shadow: 0 6px 24px rgb(0 0 0 / 0.18); }
      p { margin: 0 0 4px; font-size: 12.5px; color: light-dark(#52615e, #a3b3b0); }
      a { color: light-dark(#0b6e66, #5cc7bb); font-weight: 600; text-decoration: none; overflow-wrap: anywhere; }
      a:hover { text-decoration: underline; }
      button { all: unset; float: right; padding: 0 6px; cursor: pointer; }
      :focus-visible { outline: 2px solid light-dark(#0b6e66, #5cc7bb); outline-offset: 2px; }`;
    const box = document.createElement("div");
    box.setAttribute("role", "complementary");
    box.setAttribute("aria-label", "Brainlake: seen before");
    const close = Object.assign(document.createElement("button"), { textContent: "×", type: "button" });
    close.setAttribute("aria-label", "Close");
    close.onclick = () => host.remove();
    const when = document.createElement("p");
    when.textContent = `You read something like this on ${last.slice(0, 10)}`;
    const link = Object.assign(document.createElement("a"), { href: url, target: "_blank", rel: "noreferrer" });
    link.textContent = title.slice(0, 200);
    box.append(close, when, link);
    root.append(style, box);
    document.documentElement.append(host);
    setTimeout(() => host.remove(), SHOWN_MS);
  }

  setTimeout(look, SETTLED_MS);
})();

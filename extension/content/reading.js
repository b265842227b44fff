// On a site whose pages the person chose to keep: says so once the page was read for 20 s, in front and in use.

(() => {
  const READ_S = 20;
  let seconds = 0;
  let url = location.href;
  const timer = setInterval(() => {
    if (location.href !== url) [url, seconds] = [location.href, 0];
    if (document.visibilityState !== "visible" || !document.hasFocus()) return;
    seconds += 1;
    if (seconds !== READ_S) return;
    // An extension that was updated or removed leaves this script behind; it ends itself.
    if (chrome.runtime?.id) chrome.runtime.sendMessage({ do: "reading" }).catch(() => {});
    else clearInterval(timer);
  }, 1_000);
})();

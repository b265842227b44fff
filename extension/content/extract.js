// The readable text of this page. The value of the last expression is what the extension gets; nothing is changed here.

(() => {
  const LONGEST = 500_000;
  const clip = (text, most) => (text ? String(text).trim().slice(0, most) || undefined : undefined);
  const meta = (name) =>
    document.querySelector(`meta[name="${name}"], meta[property="${name}"]`)?.getAttribute("content");

  let article = null;
  if (typeof Readability === "function") {
    try {
      article = new Readability(document.cloneNode(true), { maxElemsToParse: 200_000 }).parse();
    } catch {
      article = null; // too large for it, or too odd
    }
  }
  let text = "";
  if (article?.content) {
    // textContent runs paragraphs together; laid out text does not, and only a parsed copy is read: nothing loads.
    const copy = new DOMParser().parseFromString(article.content, "text/html");
    for (const block of copy.querySelectorAll("p,div,li,h1,h2,h3,h4,h5,h6,blockquote,pre,tr,section,br")) {
      block.append("\n");
    }
    text = copy.body.textContent.replace(/[ \t\u00a0]+/g, " ").replace(/ ?\n[ \n]*/g, "\n");
  }
  if (text.trim().length < 200) {
    const main = document.querySelector("article, main, [role=main]");
    const own = (main ?? document.body)?.innerText ?? "";
    if (own.trim().length > text.trim().length) text = own;
  }
  return {
    url: location.href,
    title: clip(article?.title || document.title, 1_000),
    text: clip(text, LONGEST),
    excerpt: clip(article?.excerpt || meta("description") || meta("og:description"), 2_000),
    byline: clip(article?.byline || meta("author"), 300),
    lang: clip(document.documentElement.lang || article?.lang, 35),
  };
})();

// What a click on the icon shows. All work is the worker's; this page asks and shows.

import { api } from "../src/api.js";
import { FOREVER, change } from "../src/settings.js";

const $ = (id) => document.getElementById(id);
const asked = new URLSearchParams(location.search);
const tabAsked = asked.has("tab") ? Number(asked.get("tab")) : undefined;
const HOUR_MS = 3_600_000;

let page = null;
let plan = { id: "", tabs: [] };

/** Ask the worker. Raises Error with a text for people. */
async function ask(what, more = {}) {
  const { ok, error, ...told } = await api.runtime.sendMessage({ do: what, ...more });
  if (!ok) throw new Error(error);
  return told;
}

function say(text, kind = "") {
  $("said").hidden = !text;
  $("said").textContent = text;
  $("said").className = `said ${kind}`;
}

/** Do what a button says: it rests meanwhile, and what goes wrong is said. */
async function doing(button, work) {
  button.disabled = true;
  try {
    await work();
  } catch (error) {
    say(error.message, "bad");
  } finally {
    button.disabled = false;
    await show();
  }
}

const time = (at) => new Intl.DateTimeFormat(undefined, { timeStyle: "short" }).format(at);

function stateOf(status) {
  if (!status.paired) return ["", "not connected"];
  if (status.pausedUntil > Date.now()) {
    return ["warn", status.pausedUntil >= FOREVER ? "paused" : `paused until ${time(status.pausedUntil)}`];
  }
  if (status.connection.failures) return ["bad", "lake out of reach"];
  return ["good", "connected"];
}

function siteOf(url) {
  try {
    return new URL(url).hostname.replace(/^www\./, "");
  } catch {
    return "";
  }
}

async function show() {
  const status = await ask("status", { tab: tabAsked });
  const [dot, words] = stateOf(status);
  $("state").firstElementChild.className = `dot ${dot}`;
  $("state").lastElementChild.textContent = words;
  $("unpaired").hidden = status.paired;
  for (const id of ["search", "note", "tidy"]) $(id).hidden = !status.paired;

  page = status.page;
  const web = /^https?:/.test(page?.url ?? "");
  $("page").hidden = !status.paired || !page || (!web && !page.incognito);
  $("page-title").textContent = page?.title || page?.url || "";
  $("page-url").textContent = web ? siteOf(page.url) : "";
  $("page-state").textContent = status.because ? `${status.because}: nothing of it is sent.` : "Its visit is recorded.";
  $("page-state").className = `small ${status.because ? "said warn" : "soft"}`;
  $("capture").disabled = Boolean(status.reason);
  $("deny").hidden = !web || status.reason === "denied";
  $("note-about").textContent = status.reason ? "Kept without the page" : `About ${siteOf(page?.url)}`;

  const paused = status.pausedUntil > Date.now();
  $("pause").hidden = paused || !status.paired;
  $("resume").hidden = !paused;
  $("undo").hidden = !status.undo;
  $("undo").textContent = `Undo (${status.undo})`;
  const lines = [];
  if (status.waiting) lines.push(`${status.waiting} waiting to be sent`);
  if (status.connection.failures && status.connection.retryAt) lines.push(`next try ${time(status.connection.retryAt)}`);
  if (status.dead) lines.push(`${status.dead} refused (see options)`);
  $("queue").textContent = lines.join(" · ") || (status.paired ? "Everything is in your lake." : "");
}

const KINDS = { capture: "kept text", slack_thread: "Slack" };

function hit({ kind, title, url, snippet, last_visited: last }) {
  const item = document.createElement("li");
  const web = /^https?:\/\//.test(url ?? "");
  const name = document.createElement(web ? "a" : "strong");
  if (web) Object.assign(name, { href: url, target: "_blank", rel: "noreferrer" });
  name.textContent = title || url || "Untitled";
  const where = document.createElement("p");
  where.className = "soft small cut";
  where.textContent = [KINDS[kind] ?? kind, siteOf(url), last?.slice(0, 10)].filter(Boolean).join(" · ");
  const text = document.createElement("p");
  text.className = "small";
  text.textContent = (snippet ?? "").slice(0, 220);
  item.append(name, where, text);
  return item;
}

async function search(query) {
  say("");
  const { results } = await ask("search", { query });
  $("results").replaceChildren(...results.map(hit));
  if (!results.length) say("Nothing like it is in your lake.");
}

function suggestion({ tab, url, title, action, reason }) {
  const item = document.createElement("li");
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true, value: String(tab) });
  const name = document.createElement("span");
  name.className = "cut";
  name.textContent = title || url;
  const act = document.createElement("span");
  act.className = "action";
  act.textContent = action;
  const why = document.createElement("span");
  why.className = "soft small";
  why.textContent = `${siteOf(url)} · ${reason}`;
  label.append(box, name, act, why);
  item.append(label);
  return item;
}

async function suggest() {
  const told = await ask("cleanup");
  const goes = told.tabs.filter(({ action }) => action === "Close" || action === "Archive");
  plan = { id: told.plan_id, tabs: goes };
  $("plan").hidden = !goes.length;
  $("tabs").replaceChildren(...goes.map(suggestion));
  say(goes.length ? "" : `None of ${told.tabs.length} tabs has to go.`);
}

async function close() {
  const chosen = new Set([...$("tabs").querySelectorAll(":checked")].map(({ value }) => Number(value)));
  const tabs = plan.tabs
    .filter(({ tab }) => chosen.has(tab))
    .map(({ tab, url, action }) => ({ tab, url, archive: action === "Archive" }));
  const { closed, kept } = await ask("close", { tabs, plan: plan.id });
  $("plan").hidden = true;
  say(`${counted(closed.length)} closed.${stayed(kept)}`, kept.length ? "warn" : "");
}

const counted = (number) => `${number} ${number === 1 ? "tab" : "tabs"}`;
const stayed = (kept) => (kept.length ? ` ${counted(kept.length)} stayed: ${kept[0].reason}.` : "");

$("options").onclick = $("connect").onclick = () => api.runtime.openOptionsPage();
$("search").onsubmit = (event) => {
  event.preventDefault();
  const query = $("query").value.trim();
  if (query) void doing(event.submitter ?? $("query"), () => search(query));
};
$("capture").onclick = ({ currentTarget }) =>
  doing(currentTarget, async () => {
    await ask("capture", { tab: page.id });
    say("The text of this page is kept.");
  });
$("deny").onclick = ({ currentTarget }) =>
  doing(currentTarget, async () => {
    await ask("deny", { entry: siteOf(page.url) });
    say(`Nothing of ${siteOf(page.url)} is recorded from now on. What was recorded before stays in your lake.`);
  });
$("note").onsubmit = (event) => {
  event.preventDefault();
  const text = $("text").value;
  if (text.trim()) {
    void doing(event.submitter ?? $("text"), async () => {
      await ask("note", { text, tab: page?.id });
      $("text").value = "";
      say("The note is kept.");
    });
  }
};
$("suggest").onclick = ({ currentTarget }) => doing(currentTarget, suggest);
$("group").onclick = ({ currentTarget }) =>
  doing(currentTarget, async () => {
    // Asked for here, since the browser wants a click for it.
    if (!(await api.permissions.request({ permissions: ["tabGroups"] }))) throw new Error("Tab groups were not allowed.");
    const { grouped, failed } = await ask("group");
    const made = grouped.map(({ name, tabs }) => `${name} (${tabs.length})`).join(", ");
    say(made ? `Grouped: ${made}.` : "No tabs belong together.", failed.length ? "warn" : "");
  });
$("plan").onsubmit = (event) => {
  event.preventDefault();
  void doing($("close"), close);
};
$("undo").onclick = ({ currentTarget }) =>
  doing(currentTarget, async () => {
    const { opened, kept } = await ask("undo");
    say(`${counted(opened.length)} opened again.${stayed(kept)}`, kept.length ? "warn" : "");
  });
$("pause").onclick = ({ currentTarget }) => doing(currentTarget, () => change({ pausedUntil: Date.now() + HOUR_MS }));
$("resume").onclick = ({ currentTarget }) => doing(currentTarget, () => change({ pausedUntil: 0 }));

await show();
if (asked.get("q")) {
  $("query").value = asked.get("q");
  await search(asked.get("q")).catch((error) => say(error.message, "bad"));
}
setInterval(() => void show(), 3_000);

// Pairing, what is recorded, the deny list, and what waits.

import { api, may } from "../src/api.js";
import { asEntry } from "../src/policy.js";
import { change, settings } from "../src/settings.js";
import { EVERYWHERE, patternsOf } from "../src/sites.js";

const $ = (id) => document.getElementById(id);

async function ask(what, more = {}) {
  const { ok, error, ...told } = await api.runtime.sendMessage({ do: what, ...more });
  if (!ok) throw new Error(error);
  return told;
}

function say(text, kind = "") {
  $("said").hidden = !text;
  $("said").textContent = text;
  $("said").className = `said ${kind}`;
  if (text) $("said").scrollIntoView({ block: "nearest" });
}

async function doing(work, button = null) {
  if (button) button.disabled = true;
  say("");
  try {
    await work();
  } catch (error) {
    say(error.message, "bad");
  } finally {
    if (button) button.disabled = false;
    await show();
  }
}

const moment = (at) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }).format(at);

function entries(list, sites, remove) {
  list.replaceChildren(
    ...sites.map((site) => {
      const item = document.createElement("li");
      item.className = "entry";
      const name = document.createElement("span");
      name.textContent = site;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "plain" });
      button.textContent = "Remove";
      button.setAttribute("aria-label", `Remove ${site}`);
      button.onclick = () => doing(() => remove(site));
      item.append(name, button);
      return item;
    }),
  );
}

async function show() {
  const [own, status, { dead }, { backfill }] = await Promise.all([
    settings(),
    ask("status"),
    ask("dead"),
    ask("progress"),
  ]);
  $("paired").hidden = !own.key;
  $("pair").hidden = Boolean(own.key);
  $("name").textContent = own.name ?? "";
  $("where").textContent = own.address;
  const { problem, retryAt, sentAt } = status.connection;
  $("contact").textContent = problem
    ? `${problem}. Next try ${moment(retryAt)}.`
    : sentAt
      ? `Last sent ${moment(sentAt)}.`
      : "Nothing had to be sent yet.";
  if (document.activeElement?.form !== $("pair")) {
    $("address").value = own.address;
    $("profile").value = own.profile;
  }
  for (const id of ["visits", "dwell", "tabs"]) $(id).checked = own[id];
  $("bookmarks").checked = own.bookmarks && (await may("bookmarks"));
  $("card").checked = own.card && (await api.permissions.contains({ origins: EVERYWHERE }));
  $("tabGroups").checked = await may("tabGroups");
  entries($("deny"), own.deny, (site) => change(({ deny }) => ({ deny: deny.filter((one) => one !== site) })));
  entries($("auto"), own.autoCapture, (site) =>
    change(({ autoCapture }) => ({ autoCapture: autoCapture.filter((one) => one !== site) })),
  );
  if (backfill) {
    $("progress").textContent = backfill.finishedAt
      ? `${backfill.visits.toLocaleString()} visits of ${backfill.pages.toLocaleString()} pages, ${moment(backfill.finishedAt)}`
      : `${backfill.done.toLocaleString()} of ${backfill.pages.toLocaleString()} pages …`;
  }
  $("backfill").disabled = !own.key;
  $("queue").textContent = `${status.waiting.toLocaleString()} waiting, ${status.dead.toLocaleString()} refused.`;
  $("revive").disabled = $("bury").disabled = !status.dead;
  $("send").disabled = !own.key;
  $("dead").replaceChildren(
    ...dead.slice(0, 50).map(({ event, reason }) => {
      const item = document.createElement("li");
      item.className = "small";
      item.textContent = `${event.kind} of ${moment(Date.parse(event.at))}: ${reason}`;
      return item;
    }),
  );
}

/** Ask the browser for a permission; it must follow a click at once. Raises Error when the person says no. */
async function allowed(wanted) {
  if (!(await api.permissions.request(wanted))) throw new Error("The browser was not allowed to do this.");
}

$("pair").onsubmit = (event) => {
  event.preventDefault();
  const told = { code: $("code").value, profile: $("profile").value, address: $("address").value, name: $("profile").value };
  void doing(async () => {
    const { name } = await ask("pair", told);
    $("code").value = "";
    say(`Paired as ${name}.`);
  }, event.submitter);
};
$("unpair").onclick = ({ currentTarget }) => doing(() => ask("unpair"), currentTarget);
for (const id of ["visits", "dwell", "tabs"]) {
  $(id).onchange = ({ currentTarget }) => doing(() => change({ [id]: currentTarget.checked }));
}
$("bookmarks").onchange = ({ currentTarget: { checked } }) =>
  doing(async () => {
    if (checked) await allowed({ permissions: ["bookmarks"] });
    await change({ bookmarks: checked });
  });
$("card").onchange = ({ currentTarget: { checked } }) =>
  doing(async () => {
    if (checked) await allowed({ origins: EVERYWHERE });
    await change({ card: checked });
  });
$("tabGroups").onchange = ({ currentTarget: { checked } }) =>
  doing(() => (checked ? allowed({ permissions: ["tabGroups"] }) : api.permissions.remove({ permissions: ["tabGroups"] })));

function adding(form, entry, add) {
  $(form).onsubmit = (event) => {
    event.preventDefault();
    const site = asEntry($(entry).value);
    void doing(async () => {
      if (!site) throw new Error("That is no site; type one such as example.org.");
      await add(site);
      $(entry).value = "";
    });
  };
}
adding("deny-add", "deny-entry", (entry) => ask("deny", { entry }));
adding("auto-add", "auto-entry", async (site) => {
  await allowed({ origins: patternsOf([site]) });
  await change(({ autoCapture }) => ({ autoCapture: [...new Set([...autoCapture, site])] }));
});
$("backfill").onclick = ({ currentTarget }) =>
  doing(async () => {
    await allowed({ permissions: ["history"] });
    const shown = setInterval(() => void show(), 500);
    await ask("backfill").finally(() => clearInterval(shown));
  }, currentTarget);
$("send").onclick = ({ currentTarget }) => doing(() => ask("send"), currentTarget);
$("revive").onclick = ({ currentTarget }) => doing(() => ask("revive"), currentTarget);
$("bury").onclick = ({ currentTarget }) => doing(() => ask("bury"), currentTarget);

await show();
setInterval(() => void show(), 3_000);

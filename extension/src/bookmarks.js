// Bookmarks as they are made, changed and removed. The permission is asked for in the options.

import { api } from "./api.js";
import { settings } from "./settings.js";
import { tell } from "./tell.js";

let watching = false;

async function folderOf(id) {
  const names = [];
  while (id) {
    let node;
    try {
      [node] = await api.bookmarks.get(id);
    } catch {
      break; // gone meanwhile
    }
    if (node.title) names.unshift(node.title);
    id = node.parentId;
  }
  return names;
}

async function told(change, node, parent) {
  if (!node?.url || !(await settings()).bookmarks) return;
  const data = { url: node.url, title: node.title, folder: await folderOf(parent), change, native_id: node.id };
  await tell("bookmark", data, { url: node.url });
}

async function nodeOf(id) {
  try {
    return (await api.bookmarks.get(id))[0];
  } catch {
    return null;
  }
}

async function removed(node, parent) {
  await told("removed", node, parent);
  for (const child of node?.children ?? []) await removed(child, parent);
}

/** Listen, where the permission is given; the second time nothing happens. */
export function watch() {
  if (watching || !api.bookmarks?.onCreated) return;
  watching = true;
  api.bookmarks.onCreated.addListener((_, node) => told("added", node, node.parentId));
  api.bookmarks.onChanged.addListener(async (id) => {
    const node = await nodeOf(id);
    await told("changed", node, node?.parentId);
  });
  api.bookmarks.onMoved.addListener(async (id) => {
    const node = await nodeOf(id);
    await told("changed", node, node?.parentId);
  });
  api.bookmarks.onRemoved.addListener((_, { node, parentId }) => removed(node, parentId));
}

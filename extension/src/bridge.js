// The lake's server on this machine. Nothing is ever sent anywhere else.

import { settings } from "./settings.js";

/** The server said no (`status`), or could not be reached (status 0). */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** Whether the same may be taken later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The address as people type it, or null when it is none of this machine's. */
export function asAddress(typed) {
  try {
    const url = new URL(/^https?:\/\//.test(typed.trim()) ? typed.trim() : `http://${typed.trim()}`);
    const local = url.hostname === "127.0.0.1" || url.hostname === "localhost";
    return local && url.protocol === "http:" && url.pathname === "/" ? url.origin : null;
  } catch {
    return null;
  }
}

/** Ask the server. Raises Refused. */
export async function ask(path, body, { seconds = 30, key, address } = {}) {
  const own = await settings();
  const secret = key === undefined ? own.key : key;
  let answer;
  try {
    answer = await fetch((address ?? own.address) + path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(secret ? { Authorization: `Bearer ${secret}` } : {}),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(seconds * 1000),
    });
  } catch {
    throw new Refused(0, "Brainlake is not running on this machine");
  }
  let told = null;
  try {
    told = await answer.json();
  } catch {
    // No JSON: another program answers on this port, or the server broke off.
  }
  if (!answer.ok) throw new Refused(answer.status, told?.error ?? `the server answered ${answer.status}`);
  if (told === null || typeof told !== "object") throw new Refused(0, "another program answers at this address");
  return told;
}

// Calls of the HTTP API. What goes wrong is a `Problem`, with the words of the app.
import { secretHeaders } from "./session.js";

// This file lies at …/api/console/VERSION/console/lib/.
export const API = new URL("../../../../", import.meta.url);

export class Problem extends Error {
  constructor(status, content, challenge = "") {
    super(content.detail || content.title || `The app answered ${status}.`);
    this.status = status;
    this.wantsToken = challenge.startsWith("Bearer");
    this.code = content.code || "";
    this.title = content.title || "";
    this.errors = content.errors || [];
    this.suggestion = content.suggestion || null;
  }
}

// The answer as it is, for those who want to see it: status, headers, text.
export async function ask(method, path, body) {
  const headers = body === undefined ? secretHeaders() : { ...secretHeaders(), "content-type": "application/json" };
  try {
    return await fetch(new URL(path, API), { method, headers, body, cache: "no-store" });
  } catch {
    throw new Problem(0, {
      title: "The app does not answer",
      detail: "No answer came. The app may be starting, or the network be down.",
    });
  }
}

async function call(method, path, body) {
  const answer = await ask(method, path, body);
  const content = await answer.json().catch(() => null);
  if (!answer.ok || content === null)
    throw new Problem(answer.status, content || {}, answer.headers.get("www-authenticate") || "");
  return content;
}

export const get = (path) => call("GET", path);
export const post = (path, members) => call("POST", path, members === undefined ? undefined : JSON.stringify(members));
export const encoded = encodeURIComponent;
export const withQuery = (path, query) => (String(query) ? `${path}?${query}` : path);
// Where a page goes on: the same call with the parameters of the link, wherever the app says that it is.
export const queryOf = (nextLink) => new URL(nextLink, API).search.slice(1);

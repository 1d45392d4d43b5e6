// An app at an address: requests with the caller's key, tried again while the app says so.
import { ForeignAddressError, ProblemError, UnreachableError, platformProblem, problemIn, retryAfterSeconds } from "./errors.js";

/** A credential of @azure/identity, such as `DefaultAzureCredential`. */
export interface TokenCredential {
  getToken(scope: string | string[]): Promise<{ token: string } | null>;
}

export interface AppOptions {
  /** A function key. */
  key?: string;
  /** In place of a key: a token, a function that gives one, or a credential together with its `scope`. */
  credential?: string | (() => string | Promise<string>) | TokenCredential;
  /** The scope of the app, such as `api://CLIENT-ID/.default`. */
  scope?: string;
  /** How long one answer may take; 60 by default. */
  timeoutSeconds?: number;
  /** How often a call is tried again; 4 by default. */
  retries?: number;
  /** How long a call may wait for that in all; 30 by default. */
  waitSeconds?: number;
  /** Another `fetch`, for proxies and the like. */
  fetch?: typeof fetch;
}

/** A good answer, read to its end; one that has not changed has no content. */
export interface Answer {
  status: number;
  etag: string | null;
  content: unknown;
}

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal | undefined;
}

const MOMENTARY: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const NOT_MODIFIED = 304;

export class App {
  readonly #base: URL;
  readonly #options: AppOptions;

  constructor(url: string, options: AppOptions) {
    const base = new URL(url);
    if (!/^https?:$/.test(base.protocol) || base.search !== "" || base.username !== "" || base.password !== "") {
      throw new TypeError("The address of the app is one such as https://NAME.azurewebsites.net, without a key.");
    }
    if (options.key !== undefined && options.credential !== undefined) {
      throw new TypeError("Give a key or a credential: an app takes one of them.");
    }
    if (typeof options.credential === "object" && options.scope === undefined) {
      throw new TypeError("A credential needs the scope of the app, such as api://CLIENT-ID/.default.");
    }
    this.#base = base;
    this.#options = options;
  }

  /** The whole address of a path, which is encoded already. */
  address(path: string): URL {
    return new URL(this.#base.pathname.replace(/\/$/, "") + path, this.#base);
  }

  /** The address of a link that the app has given; throws for one of another host. */
  linked(link: string): URL {
    const url = new URL(link, this.#base);
    if (url.origin !== this.#base.origin) {
      throw new ForeignAddressError(`${this.#base.origin} names a page on ${url.host}, which is not asked.`);
    }
    return url;
  }

  /** The answer to a request, which is good or 304; anything else is thrown once trying again does not help. */
  async exchange(url: URL, asked: Asked = {}): Promise<Answer> {
    const { retries = 4, waitSeconds = 30 } = this.#options;
    let waited = 0;
    for (let attempt = 0; ; attempt++) {
      const { answer, failure, seconds } = await this.#attempt(url, asked, attempt);
      if (answer !== undefined) return answer;
      if (seconds === undefined || attempt === retries || waited + seconds > waitSeconds) throw failure;
      waited += seconds;
      await pause(seconds, asked.signal);
    }
  }

  async #attempt(url: URL, asked: Asked, attempt: number) {
    const headers = { ...asked.headers, ...(await this.#secret()) };
    const timeout = AbortSignal.timeout(1000 * (this.#options.timeoutSeconds ?? 60));
    const signal = asked.signal === undefined ? timeout : AbortSignal.any([timeout, asked.signal]);
    let answer: Response;
    let text: string;
    try {
      // A redirect may lead to another host, which must not receive the key.
      answer = await (this.#options.fetch ?? fetch)(url, { ...asked, headers, signal, redirect: "manual" });
      text = await answer.text();
    } catch (error) {
      if (asked.signal?.aborted) throw error;
      const failure = new UnreachableError(`${this.#base.origin} does not answer: ${reason(error)}`, { cause: error });
      return { failure, seconds: timeout.aborted ? undefined : backoff(attempt) };
    }
    if (answer.ok || answer.status === NOT_MODIFIED) return { answer: this.#read(answer, text) };
    if (answer.type === "opaqueredirect" || (answer.status >= 300 && answer.status < 400)) {
      throw new ForeignAddressError(`${this.#base.origin} redirects elsewhere: if that is the app, name its address.`);
    }
    const problem = problemIn(text);
    const asks = retryAfterSeconds(answer);
    const failure = new ProblemError({ ...(problem ?? platformProblem(answer)), status: answer.status }, asks);
    if (!MOMENTARY.has(answer.status)) return { failure };
    // A problem without Retry-After says by its silence that waiting does not help.
    return { failure, seconds: asks ?? (problem === undefined ? backoff(attempt) : undefined) };
  }

  #read({ status, headers }: Response, text: string): Answer {
    const etag = headers.get("ETag");
    if (status === NOT_MODIFIED) return { status, etag, content: undefined };
    try {
      return { status, etag, content: JSON.parse(text) };
    } catch (error) {
      const what = `${this.#base.origin} answers something else than JSON: is that the address of the app?`;
      throw new UnreachableError(what, { cause: error });
    }
  }

  async #secret(): Promise<Record<string, string>> {
    const { key, credential, scope } = this.#options;
    if (credential === undefined) return key === undefined ? {} : { "x-functions-key": key };
    if (typeof credential === "string") return { Authorization: `Bearer ${credential}` };
    if (typeof credential === "function") return { Authorization: `Bearer ${await credential()}` };
    const token = await credential.getToken(scope ?? "");
    if (token === null) throw new UnreachableError("The credential gives no token.");
    return { Authorization: `Bearer ${token.token}` };
  }
}

/** Longer each time, and by chance, so that many clients do not come back at once. */
function backoff(attempt: number): number {
  return 0.5 * 2 ** attempt * (0.5 + Math.random());
}

function reason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, 1000 * seconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

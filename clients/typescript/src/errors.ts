// What a call can fail with: a problem that the app tells, no answer at all, or an address that gets no key.

/** Every error of this package. */
export class IndexTablesError extends Error {
  override name = "IndexTablesError";
}

/** The app gives no answer. */
export class UnreachableError extends IndexTablesError {
  override name = "UnreachableError";
}

/** An answer leads to another host, which is not asked: it would receive the key. */
export class ForeignAddressError extends IndexTablesError {
  override name = "ForeignAddressError";
}

/** One of several things that are wrong with a call. */
export interface Fault {
  code: string;
  detail: string;
  parameter?: string;
}

/** What would answer a lookup that was refused: another index with its parameters, or a definition (YAML). */
export interface Suggestion {
  index?: string;
  parameters?: Record<string, string>;
  definition?: string;
}

/** The members of a problem (RFC 9457) as the app answers it. */
export interface Problem {
  type?: string;
  title?: string;
  status: number;
  detail?: string;
  code: string;
  errors?: Fault[];
  suggestion?: Suggestion;
}

/**
 * A call was refused or failed; docs/http-api.md says of every `code` what to do.
 *
 * An answer without a problem, such as the platform's empty 401 for a wrong key, has the name of its status as `code`.
 */
export class ProblemError extends IndexTablesError {
  override name = "ProblemError";
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly errors: readonly Fault[];
  readonly suggestion: Suggestion | undefined;
  /** How many seconds the app asks to wait. */
  readonly retryAfter: number | undefined;

  constructor(problem: Problem, retryAfter?: number) {
    const title = problem.title ?? problem.code;
    const detail = problem.detail ?? title;
    super(`${problem.code}: ${detail}`);
    this.status = problem.status;
    this.code = problem.code;
    this.title = title;
    this.detail = detail;
    this.errors = problem.errors ?? [];
    this.suggestion = problem.suggestion;
    this.retryAfter = retryAfter;
  }
}

const PHRASES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  413: "Payload Too Large",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** The problem in the text of an answer; undefined where there is none. */
export function problemIn(text: string): Problem | undefined {
  try {
    const content: unknown = JSON.parse(text);
    return isProblem(content) ? content : undefined;
  } catch {
    return undefined;
  }
}

/** The problem that an answer without one is: what the platform says by its status alone. */
export function platformProblem(answer: Response): Problem {
  const title = PHRASES[answer.status] ?? `Status ${answer.status}`;
  const code = answer.headers.get("x-ms-error-code") ?? title.replaceAll(" ", "");
  const detail =
    answer.status === 401
      ? "The key or token is missing or not good for this app."
      : `${new URL(answer.url).pathname} answers ${answer.status} (${title}).`;
  return { status: answer.status, code, title, detail };
}

/** How long the app asks to wait. It gives seconds; a date is left to the caller's own patience. */
export function retryAfterSeconds(answer: Response): number | undefined {
  const text = answer.headers.get("Retry-After") ?? "";
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function isProblem(content: unknown): content is Problem {
  return typeof content === "object" && content !== null && "code" in content && typeof content.code === "string";
}

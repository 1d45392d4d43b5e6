// The indexes of an app.
import { App, type AppOptions } from "./app.js";
import { pageOf } from "./answers.js";
import type { Count, Entry, Explanation, Identity, IndexDescription, Json, Page, PageContent } from "./answers.js";
import { ProblemError, type Problem } from "./errors.js";
import { jsonParameters, queryOf, seenAs } from "./values.js";
import type { Conditions, CountOptions, Options } from "./values.js";

const LOOKUPS_MAX = 100;
const NOT_MODIFIED = 304;

/** The indexes of an app, called with a function key or, where the app takes tokens, with a credential. */
export class IndexTables {
  /** @internal */
  readonly app: App;

  constructor(url: string, options: AppOptions = {}) {
    this.app = new App(url, options);
  }

  /** An index by its name, which is not asked for before it is looked up. */
  index<C = Conditions, E = Entry>(name: string): Index<C, E> {
    return new Index<C, E>(this, name);
  }

  /** All indexes as the app describes them: names, keys, what they project. */
  async indexes(): Promise<IndexDescription[]> {
    const { content } = await this.app.exchange(this.app.address("/api/indexes"));
    return (content as { value: IndexDescription[] }).value;
  }
}

/** An index. A condition is a value, a list for any of several values, or null for nulls. */
export class Index<C = Conditions, E = Entry> {
  readonly name: string;
  readonly #app: App;
  #identity: Identity | undefined;

  constructor(tables: IndexTables, name: string) {
    this.name = name;
    this.#app = tables.app;
  }

  /** Every entry, over all pages. */
  async *find(conditions: C, options: Options = {}): AsyncGenerator<E, void, undefined> {
    for await (const page of this.pages(conditions, options)) yield* page.entries;
  }

  /** Every page. */
  async *pages(conditions: C, options: Options = {}): AsyncGenerator<Page<E>, void, undefined> {
    let page: Page<E> | undefined = await this.page(conditions, options);
    while (page !== undefined) {
      yield page;
      page = await this.nextPage(page, options);
    }
  }

  /** The first page. */
  async page(conditions: C, options: Options = {}): Promise<Page<E>> {
    return this.#page(await this.#address("entries", conditions, options), {}, options.signal);
  }

  /** The page after this one; undefined after the last one. */
  async nextPage(page: Page<E>, { signal }: Pick<Options, "signal"> = {}): Promise<Page<E> | undefined> {
    return page.nextLink === undefined ? undefined : this.#page(this.#app.linked(page.nextLink), {}, signal);
  }

  /** The same page as it is now: the very same object when it has not changed. */
  async refresh(page: Page<E>, { signal }: Pick<Options, "signal"> = {}): Promise<Page<E>> {
    const headers: Record<string, string> = page.etag === undefined ? {} : { "If-None-Match": page.etag };
    return this.#page(this.#app.linked(page.url), headers, signal, page);
  }

  /** The first page of each lookup, or the problem that it has instead, in the order asked. */
  async getMany(lookups: readonly C[], options: Options = {}): Promise<(Page<E> | ProblemError)[]> {
    const shared = await this.#parameters({}, options);
    const found: (Page<E> | ProblemError)[] = [];
    for (let first = 0; first < lookups.length; first += LOOKUPS_MAX) {
      const asked = lookups.slice(first, first + LOOKUPS_MAX).map((each) => jsonParameters(each as Conditions));
      const body = JSON.stringify({ ...shared, lookups: asked });
      const headers = { "Content-Type": "application/json" };
      const url = this.#app.address(this.#path("lookups"));
      const answer = await this.#app.exchange(url, { method: "POST", headers, body, signal: options.signal });
      const content = answer.content as { value: (PageContent<E> | { error: Problem })[] };
      found.push(...content.value.map((each, at) => this.#outcome(each, { ...shared, ...asked[at] })));
    }
    return found;
  }

  /** How many entries there are. */
  async count(conditions: C, options: CountOptions = {}): Promise<Count> {
    const url = await this.#address("count", conditions, options);
    return (await this.#app.exchange(url, { signal: options.signal })).content as Count;
  }

  /** How that lookup would run. */
  async explain(conditions: C, options: Options = {}): Promise<Explanation> {
    const url = await this.#address("explain", conditions, options);
    return (await this.#app.exchange(url, { signal: options.signal })).content as Explanation;
  }

  /** The index as the app describes it: its key, what it projects, and which generation serves. */
  async describe(): Promise<IndexDescription> {
    return (await this.#app.exchange(this.#app.address(this.#path("")))).content as IndexDescription;
  }

  async #page(url: URL, headers: Record<string, string>, signal?: AbortSignal, known?: Page<E>): Promise<Page<E>> {
    const answer = await this.#app.exchange(url, { headers, signal });
    if (known !== undefined && answer.status === NOT_MODIFIED) return known;
    return pageOf(answer.content as PageContent<E>, url.href, answer.etag);
  }

  async #address(call: string, conditions: C, options: Options): Promise<URL> {
    const parameters = await this.#parameters(conditions as Conditions, options);
    return this.#app.address(this.#path(call) + queryOf(parameters));
  }

  /** Parameters whose `sees` is text: made from an item by the identity of the source, which is asked for once. */
  async #parameters(conditions: Conditions, options: Options): Promise<Json> {
    const { sees } = options;
    if (typeof sees !== "object") return jsonParameters(conditions, options);
    this.#identity ??= (await this.describe()).identity;
    return jsonParameters(conditions, { ...options, sees: seenAs(this.#identity, sees) });
  }

  #outcome(content: PageContent<E> | { error: Problem }, asked: Json): Page<E> | ProblemError {
    if ("error" in content) return new ProblemError(content.error);
    return pageOf(content, this.#app.address(this.#path("entries") + queryOf(asked)).href);
  }

  #path(call: string): string {
    return `/api/indexes/${encodeURIComponent(this.name)}${call === "" ? "" : `/${call}`}`;
  }
}

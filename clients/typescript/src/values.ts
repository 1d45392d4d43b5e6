// Values as parameters of lookups.
import type { Identity, Json } from "./answers.js";

export type Scalar = string | number | boolean | bigint | Date | null;
export type Value = Scalar | readonly Scalar[];

/** Conditions by the names of parameters: `{ town: "Redmond", "lastName.ge": "S" }`. A list asks for any of its values. */
export type Conditions = { readonly [parameter: string]: Value | undefined };

/** What a count takes beside conditions. */
export interface CountOptions {
  /** A change to wait for: the answer of Cosmos DB to a write, the changed fact, or what `seen` makes. */
  sees?: string | Json;
  /** Ends the call. */
  signal?: AbortSignal;
}

/** What a lookup takes beside conditions. */
export interface Options extends CountOptions {
  select?: string | readonly string[];
  filter?: string;
  expand?: "fact";
  pageSize?: number;
}

const OF_COSMOS = ["_etag", "_ts"] as const;

/** Conditions and options by their names on the wire, with JSON values. */
export function jsonParameters(conditions: Conditions, options: Options = {}): Json {
  const found: Json = {};
  for (const [name, value] of Object.entries(conditions)) {
    if (value === undefined) continue;
    if (isList(value)) found[name.endsWith(".in") ? name : `${name}.in`] = value.map(jsonValue);
    else found[name] = jsonValue(value);
  }
  const { select, filter, expand, pageSize, sees } = options;
  const given = { select: isList(select) ? select.join(",") : select, filter, expand, maxpagesize: pageSize, sees };
  for (const [name, value] of Object.entries(given)) if (value !== undefined) found[name] = value;
  return found;
}

/** The same for an address: text only. */
export function queryOf(parameters: Json): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) query.set(`${name}.null`, "true");
    else query.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

function jsonValue(value: Scalar): string | number | boolean | null {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "bigint" ? value.toString() : value;
}

function isList<T>(value: T | readonly T[] | undefined): value is readonly T[] {
  return Array.isArray(value);
}

/**
 * The value of `sees` for an item that a Cosmos DB write answered with, or for a fact with a declared version.
 *
 * `partitionKey` is the item's own partition key value, or the list of them for a hierarchical one.
 */
export function seen(item: Json, partitionKey: unknown = null, version?: unknown): string {
  const members: Json = { id: item["id"], partitionKey };
  if (version !== undefined) return JSON.stringify({ ...members, version });
  if (OF_COSMOS.some((name) => item[name] === undefined)) {
    throw new TypeError("The item has no `_etag` and `_ts`: give what Cosmos DB answered to the write, or a version.");
  }
  return JSON.stringify({ ...members, _etag: item["_etag"], _ts: item["_ts"] });
}

/** The same for a fact of a source with this identity. */
export function seenAs(identity: Identity, item: Json): string {
  const keys = identity.partitionKey.map((path) => atPath(item, path) ?? (hasPath(item, path) ? null : {}));
  const partitionKey = keys.length > 1 ? keys : (keys[0] ?? null);
  // An order of Cosmos DB's or the hub's own has a space in its name, which no path has.
  const version = identity.version.includes(" ") ? undefined : atPath(item, identity.version);
  return seen({ ...item, id: atPath(item, identity.id) }, partitionKey, version);
}

function names(path: string): string[] {
  return path.split(".").map((name) => name.replaceAll('"', ""));
}

function atPath(item: unknown, path: string): unknown {
  return names(path).reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), item);
}

function hasPath(item: unknown, path: string): boolean {
  const parents = names(path);
  const last = parents.pop() ?? "";
  const parent = parents.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), item);
  return isObject(parent) && last in parent;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

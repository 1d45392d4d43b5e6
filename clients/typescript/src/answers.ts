// What calls answer: entries, pages, counts, explanations.
import type { Fault, Suggestion } from "./errors.js";

export type Json = Record<string, unknown>;

/** One value of a fact's partition key; `{}` where the fact lacks it. */
export type PartitionKeyValue = string | number | boolean | null | Record<string, never>;

/**
 * An entry of an index: the values of its key, and what the index projects from the fact.
 *
 * A group of a summary has `key` and `data` alone. Times in `key` are ISO 8601 text.
 */
export interface Entry<Key = Json, Data = Json> {
  key: Key;
  data: Data;
  id: string;
  version: string;
  partitionKey?: PartitionKeyValue | PartitionKeyValue[];
  isReference?: true;
  fact?: Json;
}

/** A group of a summary. */
export interface Group<Key = Json, Data = Json> {
  key: Key;
  data: Data;
}

/** A storage account that was down and lacks changes since then. */
export interface Behind {
  account: string;
  since: string;
}

/** A page of entries. A page may have few or none and still have a next one. */
export interface Page<E = Entry> {
  readonly entries: readonly E[];
  readonly url: string;
  readonly nextLink?: string;
  readonly etag?: string;
  readonly behind: readonly Behind[];
  readonly readFrom: "primary" | "secondary";
}

/** How many entries a lookup would find; not exact when there are more than the app counts. */
export interface Count {
  count: number;
  isExact: boolean;
}

/** How a lookup would run; one that would be refused has `errors` in place of what would be read. */
export interface Explanation {
  index: string;
  access: "point" | "range" | "partition" | "fan-out" | "refused";
  explanation: string;
  generation: string;
  table: string;
  storageTransactionsPerPage: number;
  accounts?: string[];
  partitionKeys?: string[];
  rowKeys?: { from: string; before: string };
  rowKeyRanges?: number;
  partitions?: number;
  parallelReads?: number;
  shards?: number;
  tables?: number;
  factReadsPerPage?: number;
  comparesStoredValues?: boolean;
  errors?: Fault[];
  suggestion?: Suggestion;
}

/** What identifies the facts of a source and orders their versions. */
export interface Identity {
  id: string;
  partitionKey: string[];
  version: string;
}

/** An index as the app describes it. */
export interface IndexDescription {
  name: string;
  source: string;
  identity: Identity;
  state: "serving" | "building";
  generation: string | null;
  [member: string]: unknown;
}

/** A page as it is on the wire. */
export interface PageContent<E> {
  value: E[];
  nextLink?: string;
  behind?: Behind[];
  readFrom?: "secondary";
}

/** The page that the app has answered. */
export function pageOf<E>(content: PageContent<E>, url: string, etag: string | null = null): Page<E> {
  return {
    entries: content.value,
    url,
    ...(content.nextLink === undefined ? {} : { nextLink: content.nextLink }),
    ...(etag === null ? {} : { etag }),
    behind: content.behind ?? [],
    readFrom: content.readFrom ?? "primary",
  };
}

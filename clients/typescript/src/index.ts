// Look up facts by what they contain: the client of Index Tables.
export type { AppOptions, TokenCredential } from "./app.js";
export type {
  Behind,
  Count,
  Entry,
  Explanation,
  Group,
  Identity,
  IndexDescription,
  Json,
  Page,
  PartitionKeyValue,
} from "./answers.js";
export { Index, IndexTables } from "./client.js";
export { ForeignAddressError, IndexTablesError, ProblemError, UnreachableError } from "./errors.js";
export type { Fault, Problem, Suggestion } from "./errors.js";
export { seen } from "./values.js";
export type { Conditions, CountOptions, Options, Scalar, Value } from "./values.js";

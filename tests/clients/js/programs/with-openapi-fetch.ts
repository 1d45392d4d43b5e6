// What an application writes over the types that openapi-typescript generates.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({ baseUrl: "https://NAME.azurewebsites.net" });

export async function phones(town: string): Promise<string[]> {
  const { data, error, response } = await client.GET("/api/indexes/customers-by-town/entries", {
    params: { query: { town, "lastName.prefix": "S", select: ["phone"] } },
  });
  if (error !== undefined) {
    const problems: readonly { code: string; parameter?: string; detail: string }[] = error.errors ?? [];
    throw new Error([error.code, ...problems.map((each) => each.detail), response.headers.get("Retry-After")].join(" "));
  }
  const next: string | undefined = data.nextLink;
  return [...data.value.map((entry) => `${entry.key.lastName}: ${entry.data.phone}`), next ?? ""];
}

export function factOf(entry: components["schemas"]["Entry.customers-by-town"]): unknown {
  const partitionKey: string | number | boolean | object | null = entry.partitionKey;
  return [partitionKey, entry.fact?.phone, entry.fact?.["address"]];
}

export async function readsAtOnce(town: string): Promise<number | undefined> {
  const { data } = await client.GET("/api/indexes/customers-by-town/explain", { params: { query: { town } } });
  const from: string | undefined = data?.rowKeys?.from;
  return from === undefined ? undefined : data?.parallelReads;
}

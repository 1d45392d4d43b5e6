// What an application writes over the client that @hey-api/openapi-ts generates.
import { explainCustomersByTown, findCustomersByTown, findManyCustomersByTown } from "./generated/index.js";
import type { EntryCustomersByTown, Problem } from "./generated/index.js";

export async function phones(town: string): Promise<string[]> {
  const { data, error } = await findCustomersByTown({ query: { town, "lastName.prefix": "S", select: ["phone"] } });
  if (error !== undefined) {
    const problem: Problem = error;
    throw new Error([problem.code, ...(problem.errors ?? []).map((each) => each.detail)].join(" "));
  }
  return data.value.map((entry: EntryCustomersByTown) => `${entry.key.lastName}: ${entry.data.phone}`);
}

export async function firstPages(towns: string[]): Promise<unknown[]> {
  const { data } = await findManyCustomersByTown({ body: { lookups: towns.map((town) => ({ town })) } });
  return (data?.value ?? []).map((each) => ("error" in each ? each.error.code : each.value[0]?.fact?.phone));
}

export async function readsAtOnce(town: string): Promise<number | undefined> {
  const { data } = await explainCustomersByTown({ query: { town } });
  return data?.rowKeys?.from === undefined ? undefined : data.parallelReads;
}

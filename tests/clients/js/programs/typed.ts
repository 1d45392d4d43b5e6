// What an application writes over the typed classes. Each expected error is a mistake that the classes find.
import { IndexTables, ProblemError } from "index-tables";
import { CustomersByTown, MoviesNewestFirst, OrderTotals, OrdersNewestFirst } from "./indexes.js";

const tables = new IndexTables(process.env["URL"] ?? "", { key: process.env["KEY"] ?? "" });
const customer = process.env["CUSTOMER"] ?? "";

export async function mistakes(): Promise<void> {
  const towns = new CustomersByTown(tables);
  // @ts-expect-error a part of the partition is missing
  await towns.page({});
  // @ts-expect-error a town is text
  await towns.page({ town: 1 });
  // @ts-expect-error there is no such parameter
  await towns.page({ town: "R", "lastNam.ge": "S" });
  // @ts-expect-error there is no such field
  (await towns.page({ town: "R" })).entries[0]?.data.fax;
}

const found: string[] = [];
for await (const entry of new CustomersByTown(tables).find({ town: "Redmond", "lastName.ge": "A" }, { pageSize: 5 })) {
  const lastName: string = entry.key.lastName;
  found.push(`${lastName} ${typeof entry.data.phone}`);
}
const since = new Date("2000-01-01");
const orders = await new OrdersNewestFirst(tables).page({ customer, "placedAt.ge": since });
let counted = 0;
for await (const group of new OrderTotals(tables).find({ customer })) counted += group.data.orders ?? 0;
const [movies] = await new MoviesNewestFirst(tables).getMany([{ genre: "none", "year.gt": 1990 }]);
console.log(found.length, counted === orders.entries.length, movies instanceof ProblemError);

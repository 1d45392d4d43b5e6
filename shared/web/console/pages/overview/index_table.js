// The indexes: what they hold, what was written, how they are read.
import { linkTo } from "../../lib/address.js";
import { html } from "../../lib/html.js";
import { about, count, exactDollars } from "../../lib/words.js";
import { Pill } from "../../parts/pill.js";
import { Empty } from "../../parts/states.js";
import { Table } from "../../parts/table.js";

const number = (name, cell) => ({ name, isNumber: true, cell });

export function IndexTable({ indexes, advice }) {
  if (!indexes.length)
    return html`<${Empty} title="There is no index yet"><p>Define one in <code>indexes.yaml</code>, and deploy.</p>
      <//>`;
  const sampled = (index) => advice && advice.indexes.find((one) => one.name === index.name);
  return html`<${Table} label="Indexes" rows=${indexes} keyOf=${(index) => index.name} columns=${[
    { name: "Index", cell: (index) => html`<a href=${linkTo(["indexes", index.name])}>${index.name}</a>` },
    { name: "State", cell: (index) => html`<${Pill} text=${index.state} />` },
    number("Entries", (index) => (sampled(index) ? about(sampled(index).statistics.entries) : "…")),
    number("Written", (index) => count(index.entriesWritten)),
    number("Removed", (index) => count(index.entriesRemoved)),
    number("Lookups", (index) => count(index.lookups)),
    number("Rows per entry", (index) =>
      index.entriesReturned ? (index.rowsRead / index.entriesReturned).toFixed(2) : "–",
    ),
    number("$ per million entries", (index) => exactDollars(index.dollarsPerMillionEntries)),
    number("$ per million lookups", (index) => exactDollars(index.dollarsPerMillionLookups)),
  ]} />`;
}

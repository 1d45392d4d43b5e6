// The sources: how far behind each is, and what became of its changes.
import { linkTo } from "../../lib/address.js";
import { lagKind } from "../../lib/attention.js";
import { html } from "../../lib/html.js";
import { count, duration, exactDollars } from "../../lib/words.js";
import { Empty } from "../../parts/states.js";
import { Table } from "../../parts/table.js";

const number = (name, cell) => ({ name, isNumber: true, cell });

const COLUMNS = [
  { name: "Source", cell: (source) => source.name },
  {
    name: "Lag",
    cell: (source) => html`<span class=${`pill ${lagKind(source.lagSeconds)}`}>${duration(source.lagSeconds)}</span>`,
  },
  number("Applied", (source) => count(source.applied)),
  number(
    "Dropped",
    (source) =>
      html`${count(source.dropped)}${source.clockWentBack > 0 && html`<small>
        ${count(source.clockWentBack)}: a clock went back</small>`}`,
  ),
  number("Redelivered", (source) => count(source.redelivered)),
  number("Ignored", (source) => count(source.ignored)),
  number(
    "Dead letters",
    (
      source,
    ) => html`${source.deadLetters > 0 ? html`<a href=${linkTo(["dead-letters"], { source: source.name })}>
      ${count(source.deadLetters)}</a>` : count(source.deadLetters)}
    ${source.deadLettersNotKept > 0 && html`<small>${count(source.deadLettersNotKept)} not kept</small>`}`,
  ),
  number("$ per million", (source) => exactDollars(source.dollarsPerMillionChanges)),
];

export const SourceTable = ({ sources }) =>
  sources.length
    ? html`<${Table} label="Sources" columns=${COLUMNS} rows=${sources} keyOf=${(source) => source.name} />`
    : html`<${Empty} title="There is no source yet"><p>Define one in <code>indexes.yaml</code>, and deploy.</p><//>`;

// What a verification found.
import { html } from "../../lib/html.js";
import { count, momentOf, plural, shown } from "../../lib/words.js";
import { Prose } from "../../parts/prose.js";
import { Table } from "../../parts/table.js";

const COLUMNS = [
  { name: "Kind", cell: (one) => one.kind },
  {
    name: "Fact",
    cell: (one) =>
      html`${one.id === undefined ? "–" : one.id}<small>
        ${one.partitionKey === undefined ? "" : shown(one.partitionKey)}</small>`,
  },
  {
    name: "Row",
    isWide: true,
    cell: (one) => (one.PartitionKey === undefined ? "–" : html`<code>${one.PartitionKey} | ${one.RowKey}</code>`),
  },
];

export function Report({ report }) {
  const { total, differences } = report;
  const found = Object.entries(differences)
    .filter(([, number]) => number)
    .map(([kind, number]) => `${count(number)} ${kind}`)
    .join(", ");
  return html`<div class="stack report">
    ${report.state === "failed" && html`<p class="notice bad">It failed: <${Prose} text=${report.problem} /></p>`}
    ${report.state === "done" && html`<p><span class=${`pill ${total ? "bad" : "good"}`}>
      ${plural(total, "difference")}</span> ${found} <span class="soft small">
      ${report.sample ? `in a sample of ${count(report.sample)}` : "in all of it"}, ${momentOf(report.endedAt)}</span>
      </p>`}
    <p class="small soft">Read ${plural(report.facts, "fact")}, ${plural(report.ledgerRows, "ledger row")}, ${plural(report.rows, "row")}; ${count(report.behind)} on their way, ${plural(report.deadLetters, "dead letter")}${report.repair ? `; ${count(report.repaired)} repaired, ${count(report.unrepaired)} not` : ""}.</p>
    ${report.examples.length > 0 && html`<${Table} label="Differences" columns=${COLUMNS} rows=${report.examples}
      keyOf=${(one) => JSON.stringify(one)} />`}</div>`;
}

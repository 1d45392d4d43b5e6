// All indexes: how each is asked, what it holds, how it stands.
import { linkTo } from "../lib/address.js";
import { get } from "../lib/calls.js";
import { html } from "../lib/html.js";
import { useLoad } from "../lib/load.js";
import { about, count } from "../lib/words.js";
import { KeyDrawing } from "../parts/key_drawing.js";
import { PageHead } from "../parts/page_head.js";
import { Pill } from "../parts/pill.js";
import { Empty, Loaded } from "../parts/states.js";
import { Table } from "../parts/table.js";

export function IndexesPage({ indexes, status }) {
  const advice = useLoad(() => get("advice"), []);
  return html`<${PageHead} title="Indexes"
    about="Each answers one kind of question: by its partition, in the order of its sort key." />
    <${Loaded} of=${indexes} what="indexes">${({ value }) =>
      value.length
        ? html`<${Table} label="Indexes" columns=${columns(status.value, advice.value)} rows=${value}
          keyOf=${(index) => index.name} />`
        : html`<${Empty} title="There is no index yet"><p>Define one in <code>indexes.yaml</code>, and deploy.</p>
          <//>`}<//>`;
}

function columns(status, advice) {
  const counted = (index) => status && status.indexes.find((one) => one.name === index.name);
  const sampled = (index) => advice && advice.indexes.find((one) => one.name === index.name);
  return [
    {
      name: "Index",
      cell: (index) =>
        html`<a href=${linkTo(["indexes", index.name])}>${index.name}</a><small>of ${index.source}</small>`,
    },
    { name: "Key", isWide: true, cell: (index) => html`<${KeyDrawing} index=${index} />` },
    { name: "State", cell: (index) => html`<${Pill} text=${index.state} />` },
    {
      name: "Entries",
      isNumber: true,
      cell: (index) => (sampled(index) ? about(sampled(index).statistics.entries) : "…"),
    },
    { name: "Lookups", isNumber: true, cell: (index) => (counted(index) ? count(counted(index).lookups) : "…") },
  ];
}

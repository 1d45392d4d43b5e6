// Operations: how every index stands, what is to be done, and what runs. One index has a page of its own.
import { linkTo } from "../lib/address.js";
import { encoded, get } from "../lib/calls.js";
import { html } from "../lib/html.js";
import { useLoad } from "../lib/load.js";
import { standing } from "../lib/standing.js";
import { PageHead } from "../parts/page_head.js";
import { Empty, Loaded } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { IndexOperations } from "./operations/index_operations.js";
import { Tasks } from "./operations/tasks.js";

const EVERY_SECONDS = 15;
const ABOUT =
  "What the deployed definitions say, beside what serves. A changed definition is built, verified and switched to while the old one serves.";
const NEXT = { build: "Build it", verify: "Verify it", switch: "Switch to it" };

export function OperationsPage({ address, indexes, status, isPaused }) {
  const name = address.steps[1];
  return html`<${PageHead} title=${name || "Operations"} about=${name ? "Operations" : ABOUT} /><${Loaded}
    of=${indexes} what="indexes">${({
    value,
  }) => {
    if (!name) return html`<${All} indexes=${value} status=${status} isPaused=${isPaused} />`;
    const index = value.find((one) => one.name === name);
    return index
      ? html`<${IndexOperations} index=${index} indexes=${value} status=${status} />`
      : html`<${Empty} title="There is no such index"><p><a href="#/operations">All indexes</a></p><//>`;
  }}<//>`;
}

function All({ indexes, status, isPaused }) {
  const states = useLoad(
    () => Promise.all(indexes.map((index) => get(`indexes/${encoded(index.name)}/builds`))),
    [indexes.length],
    isPaused ? 0 : EVERY_SECONDS,
  );
  return html`<${Loaded} of=${states} needs="admin" what="the plan">${(all) =>
    all.length === 0
      ? html`<${Empty} title="There is no index yet" />`
      : html`
      <section class="stack"><h2>Plan</h2><${Table} label="Plan" columns=${COLUMNS} rows=${all}
        keyOf=${(state) => state.index} /></section>
      <${Tasks} tasks=${(status.value && status.value.tasks) || []} />`}<//>`;
}

const COLUMNS = [
  { name: "Index", cell: (state) => html`<a href=${linkTo(["operations", state.index])}>${state.index}</a>` },
  {
    name: "Standing",
    isWide: true,
    cell: (state) => html`<span class=${`pill ${standing(state).kind}`}>${standing(state).text}</span>`,
  },
  { name: "Serving", cell: (state) => (state.serving ? html`<code>${state.serving.id}</code>` : "–") },
  { name: "Defined", cell: (state) => (state.defined ? html`<code>${state.defined.id}</code>` : "–") },
  {
    name: "Next",
    cell: (state) =>
      html`<a href=${linkTo(["operations", state.index])}>
        ${NEXT[standing(state).step] || "Verify, repair, rebalance"}</a>`,
  },
];

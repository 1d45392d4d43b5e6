// Long work: what runs now, and what ended of late.
import { html } from "../../lib/html.js";
import { done, moment } from "../../lib/words.js";
import { Pill } from "../../parts/pill.js";
import { Prose } from "../../parts/prose.js";
import { Table } from "../../parts/table.js";

const COLUMNS = [
  { name: "Work", cell: (task) => html`${task.kind} ${task.about.index || ""}<small><${Prose}
    text=${task.problem} /></small>` },
  { name: "State", cell: (task) => html`<${Pill} text=${task.state} />` },
  {
    name: "Progress",
    cell: (task) =>
      html`<progress max=${Math.max(1, task.slices)} value=${task.slicesDone}
        aria-label=${`Progress of ${task.kind} ${task.about.index || task.id}`}></progress><small>
        ${task.slicesDone} of ${task.slices} slices</small>`,
  },
  {
    name: "Done so far",
    isWide: true,
    cell: (task) => done(task.counts) || "–",
  },
  { name: "Started", cell: (task) => moment(task.startedAtSeconds) },
];

export const Tasks = ({ tasks }) => html`<section class="stack"><h2>Builds, verifications and other long work</h2>
  ${tasks.length ? html`<${Table} label="Long work" columns=${COLUMNS} rows=${tasks}
    keyOf=${(task) => task.id} />` : html`<p class="panel soft">None has run yet.</p>`}</section>`;

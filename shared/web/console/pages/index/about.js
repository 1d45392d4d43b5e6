// What an index is: its definition, its generations, its size, its largest partitions, and advice.
import { html } from "../../lib/html.js";
import { about, bytes, count, moment, percent, shown } from "../../lib/words.js";
import { definitionYaml } from "../../lib/yaml.js";
import { AdviceList } from "../../parts/advice_list.js";
import { CodeBox } from "../../parts/copy.js";
import { Facts } from "../../parts/facts.js";
import { Pill } from "../../parts/pill.js";
import { Loaded } from "../../parts/states.js";
import { Table } from "../../parts/table.js";

export function AboutIndex({ index, status, advice }) {
  return html`
    <section class="panel"><h2>Definition</h2><${CodeBox} text=${definitionYaml(index)} what="the definition" />
      </section>
    <${Loaded} of=${advice} what="statistics">${({ indexes }) => {
      const known = indexes.find((one) => one.name === index.name);
      return known ? html`<${Statistics} known=${known} />` : null;
    }}<//>
    <${Loaded} of=${status} what="generations">${({ indexes }) => html`<${Generations}
      index=${indexes.find((one) => one.name === index.name)} />`}<//>`;
}

function Statistics({ known }) {
  const { statistics } = known;
  const size = statistics.entryBytes === null ? null : statistics.entries * statistics.entryBytes;
  return html`<section class="panel"><h2>Size</h2><${Facts} facts=${[
    ["Entries", about(statistics.entries)],
    ["Partitions", about(statistics.partitions)],
    ["Largest partition", percent(statistics.largestShare)],
    ["Size of an entry", statistics.entryBytes === null ? "unknown" : bytes(statistics.entryBytes)],
    ["Size of all", size === null ? "unknown" : `≈ ${bytes(size)}`],
    ["Sample", `${count(statistics.entriesSampled)} entries${statistics.ledgerShare === 1 ? ", all there are" : ""}`],
  ]} />
    <p class="soft small">Estimates from a sample, kept for a minute.</p></section>
    ${
      statistics.top.length > 0 &&
      html`<section class="stack"><h2>Largest partitions</h2><${Table} label="Largest partitions" rows=${statistics.top}
      keyOf=${(top) => JSON.stringify(top.values)} columns=${[
        { name: "Partition", cell: (top) => Object.values(top.values).map(shown).join(" · ") },
        {
          name: "Share",
          isNumber: true,
          cell: (top) =>
            html`<span class="share"><progress max="1" value=${top.share} aria-label="Share"></progress>
              ${percent(top.share)}</span>`,
        },
        { name: "Entries in the sample", isNumber: true, cell: (top) => count(top.entries) },
        { name: "Shards", isNumber: true, cell: (top) => count(top.shards) },
      ]} /></section>`
    }
    <section class="stack"><h2>Advice</h2><${AdviceList} indexes=${[known]} /></section>`;
}

function Generations({ index }) {
  if (!index) return null;
  return html`<section class="stack"><h2>Generations</h2>${
    index.generations.length === 0
      ? html`<p class="panel soft">No generation is known yet.</p>`
      : html`
    <${Table} label="Generations" rows=${index.generations} keyOf=${(one) => one.id} columns=${[
      { name: "Generation", cell: (one) => html`<code>${one.id}</code>` },
      { name: "State", cell: (one) => html`<${Pill} text=${one.state} />` },
      { name: "Since", cell: (one) => moment(one.enteredAtSeconds) },
      { name: "Built", cell: (one) => moment(one.builtAtSeconds) },
      {
        name: "Verified",
        cell: (one) =>
          one.verifiedAtSeconds === null
            ? "–"
            : `${moment(one.verifiedAtSeconds)}, ${count(one.differences)} differences`,
      },
    ]} />`
  }</section>`;
}

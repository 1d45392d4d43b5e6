// The answer: a table with a column for each key part and field, page by page; a row opens as JSON with its fact.
import { useState } from "preact/hooks";
import { encoded } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { usePages } from "../../lib/page_stack.js";
import { partsOf } from "../../lib/question.js";
import { momentOf, plural, shown } from "../../lib/words.js";
import { Empty, Trouble, Waiting } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Entry } from "./entry.js";
import { Suggestion } from "./suggestion.js";

export function Results({ index, parameters }) {
  const pages = usePages(`indexes/${encoded(index.name)}/entries`, String(new URLSearchParams(parameters)));
  const [opened, setOpened] = useState(null);
  if (pages.problem && !pages.page) {
    return html`<${Trouble} problem=${pages.problem} retry=${pages.again} /><${Suggestion}
      suggestion=${pages.problem.suggestion} />`;
  }
  if (!pages.page) return html`<${Waiting} what="entries" />`;
  const entries = pages.page.value,
    hasMore = Boolean(pages.page.nextLink);
  return html`<section class="stack" aria-label="Result">
    ${(pages.page.behind || []).map((one) => html`<p class="notice warn">
      ${one.account} was down: changes since ${momentOf(one.since)} are on their way.</p>`)}
    ${
      entries.length
        ? html`<${Table} label="Entries" columns=${columns(index, entries, setOpened)} rows=${entries}
          keyOf=${identityOf} onOpen=${setOpened} />`
        : html`<${Empty} title=${hasMore || pages.number > 1 ? "No entry on this page" : "No entry matches"}><p>
          ${hasMore ? "There may be more on the next one." : "Try a wider condition, or another value."}</p><//>`
    }
    <div class="row spread paging">
      <p class="soft" role="status">${wording(pages, entries.length, hasMore)}</p>
      <div class="row">
        <button type="button" disabled=${pages.number === 1} onClick=${pages.previous}>Previous page</button>
        <button type="button" disabled=${!hasMore || pages.isLoading} onClick=${pages.next}>Next page</button>
      </div>
    </div>
    ${pages.problem && html`<${Trouble} problem=${pages.problem} retry=${pages.next} />`}
    ${opened && html`<${Entry} index=${index} entry=${opened} onClose=${() => setOpened(null)} />`}
  </section>`;
}

function wording(pages, length, hasMore) {
  if (!length) return `Page ${pages.number}`;
  const all = !hasMore ? ", all there are" : ", and more";
  return pages.number === 1
    ? `${plural(length, "entry", "entries")}${all}`
    : `Page ${pages.number}: entries ${pages.before + 1} to ${pages.before + length}${all}`;
}

export const identityOf = (entry) => JSON.stringify([entry.partitionKey, entry.id, entry.key]);

function columns(index, entries, open) {
  const fields = [...new Set(entries.flatMap((entry) => Object.keys(entry.data || {})))];
  const opener = {
    name: "",
    label: "Open",
    cell: (entry) =>
      html`<button type="button" class="link" aria-label=${`Open ${nameOf(index, entry)}`}
        onClick=${() => open(entry)}>Open</button>`,
  };
  return [
    ...partsOf(index).map((part) => ({ name: part.name, isValue: true, cell: (entry) => value(entry.key[part.name]) })),
    ...fields.map((field) => ({ name: field, isValue: true, cell: (entry) => value(entry.data[field]) })),
    opener,
  ];
}

const nameOf = (index, entry) =>
  entry.id === undefined
    ? partsOf(index)
        .map((part) => shown(entry.key[part.name]))
        .join(" ")
    : entry.id;

function value(found) {
  if (found === undefined) return html`<span class="soft">–</span>`;
  if (found === null) return html`<span class="soft">null</span>`;
  const isText = typeof found === "string";
  return html`<span class=${`clipped ${isText ? "" : "mono"}`}>${shown(found)}</span>`;
}

// What a call answered: a list as a table, all of it as JSON, and the next page to go to.
import { useState } from "preact/hooks";
import { html } from "../../lib/html.js";
import { shown } from "../../lib/words.js";
import { JsonView } from "../../parts/json_view.js";
import { Trouble } from "../../parts/states.js";
import { Table } from "../../parts/table.js";

export function Answer({ answer, problem, onFollow }) {
  const [isRaw, setRaw] = useState(false);
  if (problem) return html`<${Trouble} problem=${problem} />`;
  const content = parsed(answer.text);
  const rows =
    content && Array.isArray(content.value) && content.value.length > 0 && content.value.every(isObject)
      ? content.value
      : null;
  return html`<section class="stack answer" aria-label="Answer">
    <div class="row spread"><p role="status"><span class=${`pill ${answer.status < 400 ? "good" : "bad"}`}>
      ${answer.status}</span> <span class="soft small">${answer.type}</span></p>
      ${
        rows &&
        html`<div class="choice" role="group" aria-label="Show as"><button type="button" aria-pressed=${!isRaw}
          onClick=${() => setRaw(false)}>Table</button>
        <button type="button" aria-pressed=${isRaw} onClick=${() => setRaw(true)}>JSON</button></div>`
      }</div>
    ${rows && !isRaw ? html`<${Rows} rows=${rows} />` : html`<${JsonView}
      value=${content === undefined ? answer.text || "(no body)" : content} label="Answer as JSON" />`}
    ${content && content.nextLink && html`<div><button type="button"
      onClick=${() => onFollow(content.nextLink)}>Next page</button></div>`}
  </section>`;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function Rows({ rows }) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  return html`<${Table} label="Answer" rows=${rows.map((row, place) => ({ ...row, "": place }))}
    keyOf=${(row) => String(row[""])}
    columns=${names.map((name) => ({ name, isValue: true, cell: (row) => html`<span class="clipped">
      ${row[name] === undefined ? "–" : shown(row[name])}</span>` }))} />`;
}

// Which dead letters are shown.
import { useState } from "preact/hooks";
import { html } from "../../lib/html.js";

export const FILTERS = ["source", "index", "kind", "reason"];
const KINDS = ["wrongType", "notEvaluable", "notJson", "tooManyEntries", "tooLarge", "ledgerRowTooLarge", "unreadable"];

export function Filters({ chosen, indexes, onFilter }) {
  const [reason, setReason] = useState(chosen.reason || "");
  const all = indexes ? indexes.value : [];
  const choices = {
    source: [...new Set(all.map((index) => index.source))],
    index: all.map((index) => index.name),
    kind: KINDS,
  };
  const filter = (more) => onFilter(Object.entries({ ...chosen, reason, ...more }).filter(([, value]) => value));
  const submit = (event) => {
    event.preventDefault();
    filter({});
  };
  return html`<form class="panel filters" role="search" onSubmit=${submit}>
    ${Object.entries(choices).map(
      ([name, values]) => html`<label class="field" key=${name}><span>${name[0].toUpperCase() + name.slice(1)}</span>
      <select name=${name} value=${chosen[name] || ""} onChange=${(event) => filter({ [name]: event.target.value })}>
        <option value="">any</option>${values.map((value) => html`<option value=${value}
          selected=${value === chosen[name]}>${value}</option>`)}</select></label>`,
    )}
    <label class="field"><span>Reason contains</span><input name="reason" value=${reason}
      onInput=${(event) => setReason(event.target.value)} autocomplete="off" /></label>
    <button type="submit">Filter</button>
  </form>`;
}

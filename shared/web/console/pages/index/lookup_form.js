// The form of a lookup, made from the definition: a row for each key part, in the order of the key.
import { useState } from "preact/hooks";
import { html } from "../../lib/html.js";
import { isComplete, openParts, partsOf } from "../../lib/question.js";
import { shown } from "../../lib/words.js";
import { Condition } from "./condition.js";

export function LookupForm({ index, asked, known, onAsk }) {
  const [question, setQuestion] = useState(asked);
  const open = openParts(index, question);
  const samples = known ? known.statistics.top : [];
  const setCondition = (part, condition) =>
    setQuestion({ ...question, conditions: { ...question.conditions, [part.name]: condition } });
  const setOption = (name) => (event) =>
    setQuestion({ ...question, options: { ...question.options, [name]: event.target.value } });
  const submit = (event) => {
    event.preventDefault();
    onAsk(question);
  };
  const tryOne = (sample) =>
    onAsk({ ...question, conditions: { ...question.conditions, ...conditionsOf(index, sample) } });
  const hasOptions = Object.values(question.options).some(Boolean);
  return html`<form class="panel stack lookup" onSubmit=${submit} aria-label="Lookup">
    ${partsOf(index).map(
      (part) => html`<${Condition} key=${part.name} index=${index} part=${part} isOpen=${open.has(part.name)}
      condition=${question.conditions[part.name]} samples=${samplesOf(part, samples)} onChange=${(condition) => setCondition(part, condition)} />`,
    )}
    ${
      !isComplete(index, asked) &&
      samples.length > 0 &&
      html`<div class="row tries"><span class="soft small">Large partitions to try:</span>
      ${samples.map((sample) => html`<button type="button" class="chip" onClick=${() => tryOne(sample)}>
        ${Object.values(sample.values).map(shown).join(" · ")}</button>`)}</div>`
    }
    <details open=${hasOptions}><summary>Filter, fields and page size</summary><div class="options">
      <label class="field"><span>Filter: a JMESPath expression over <code>key</code> and <code>data</code></span>
        <input name="filter" value=${question.options.filter} placeholder="data.total > \`100\`"
          onInput=${setOption("filter")} autocomplete="off" /></label>
      <label class="field"><span>Fields, with commas</span>
        <input name="select" value=${question.options.select} placeholder="all" onInput=${setOption("select")}
          autocomplete="off" /></label>
      <label class="field"><span>Entries on a page</span>
        <input name="maxpagesize" type="number" min="1" max="1000" value=${question.options.maxpagesize}
          placeholder="100" onInput=${setOption("maxpagesize")} /></label>
    </div></details>
    <div><button class="main" type="submit" disabled=${!isComplete(index, question)}>Look up</button></div>
  </form>`;
}

const samplesOf = (part, samples) => [
  ...new Set(
    samples
      .filter((one) => part.name in one.values && one.values[part.name] !== null)
      .map((one) => String(one.values[part.name])),
  ),
];

const conditionsOf = (index, sample) =>
  Object.fromEntries(
    index.partition.map((part) => {
      const value = sample.values[part.name];
      return [
        part.name,
        value === null || value === undefined
          ? { operator: "null", values: ["", ""] }
          : { operator: "eq", values: [String(value), ""] },
      ];
    }),
  );

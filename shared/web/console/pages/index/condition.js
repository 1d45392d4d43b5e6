// One condition: a key part, an operator, a value of the part's type.
import { html } from "../../lib/html.js";
import { isGiven, labelOf, operatorsOf } from "../../lib/question.js";

const HINTS = { datetime: "2026-11-17T12:00:00Z", integer: "42", number: "3.14" };
const MODES = { integer: "numeric", number: "decimal" };

export function Condition({ index, part, isOpen, condition, samples, onChange }) {
  const { operator, values } = condition;
  const isNeeded = index.partition.includes(part);
  const setValue = (place) => (event) =>
    onChange({ operator, values: values.map((value, at) => (at === place ? event.target.value : value)) });
  const choose = (event) => onChange({ operator: event.target.value, values });
  const input = (
    place,
    label,
  ) => html`<${Value} part=${part} isOpen=${isOpen} operator=${operator} value=${values[place]} samples=${samples}
    label=${label} isNeeded=${isNeeded} onInput=${setValue(place)} />`;
  return html`<div class=${`condition ${isNeeded ? "partition" : "sort"}`} data-part=${part.name}
    data-given=${isGiven(condition)}>
    <div class="about"><code>${part.name}</code><small>
      ${isNeeded ? "needed" : isOpen ? "optional" : "after the part before it"}${part.type === "string" ? "" : `, ${part.type}`}</small>
      </div>
    <select aria-label=${`Operator for ${part.name}`} value=${operator} disabled=${!isOpen} onChange=${choose}>
      ${operatorsOf(index, part).map((name) => html`<option value=${name} selected=${name === operator}>
        ${labelOf(name)}</option>`)}</select>
    <div class="values">
      ${operator !== "null" && input(0, operator === "between" ? `${part.name} from` : part.name)}
      ${operator === "between" && html`<span class="soft">and</span>${input(1, `${part.name} to`)}`}
    </div>
  </div>`;
}

function Value({ part, isOpen, operator, value, samples, label, isNeeded, onInput }) {
  if (part.type === "boolean") {
    return html`<select aria-label=${label} disabled=${!isOpen} value=${value} onChange=${onInput}>
      ${["", "true", "false"].map((one) => html`<option value=${one} selected=${one === value}>
        ${one || "any"}</option>`)}</select>`;
  }
  const list = `values-of-${part.name}`,
    hint = operator === "in" ? "one, another, a third" : HINTS[part.type] || (isNeeded ? "a value" : "any");
  return html`<input aria-label=${label} name=${label} value=${value} disabled=${!isOpen} placeholder=${hint}
    autocomplete="off" spellcheck=${false}
      inputmode=${MODES[part.type]} list=${samples.length && operator === "eq" ? list : undefined} onInput=${onInput} />
    ${samples.length > 0 && html`<datalist id=${list}>
      ${samples.map((one) => html`<option value=${one} />`)}</datalist>`}`;
}

// A field for one parameter of a call.
import { html } from "../../lib/html.js";
import { Prose } from "../../parts/prose.js";

export function Parameter({ parameter, value, onInput }) {
  const { name, required, description, schema = {}, example } = parameter;
  const choices = schema.enum || (schema.type === "boolean" ? ["true", "false"] : null);
  const input = (event) => onInput(event.target.value);
  return html`<label class="parameter"><span><code>${name}</code>${required && html` <small>needed</small>`}</span>
    ${
      choices
        ? html`<select name=${name} value=${value} onChange=${input}><option value=""></option>
          ${choices.map((one) => html`<option value=${one} selected=${String(one) === value}>
          ${one}</option>`)}</select>`
        : html`<input name=${name} value=${value} placeholder=${example === undefined ? "" : String(example)}
          autocomplete="off" spellcheck=${false} onInput=${input} />`
    }
    <small><${Prose} text=${description} /></small></label>`;
}

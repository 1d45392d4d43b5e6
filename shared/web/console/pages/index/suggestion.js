// What would answer a lookup that was refused: another index, or the definition of a new one.
import { linkTo } from "../../lib/address.js";
import { html } from "../../lib/html.js";
import { CodeBox } from "../../parts/copy.js";

export function Suggestion({ suggestion }) {
  if (!suggestion) return null;
  if (suggestion.index) {
    return html`<p class="panel">The index <a href=${linkTo(["indexes", suggestion.index], suggestion.parameters)}>
      ${suggestion.index}</a> answers this.</p>`;
  }
  return html`<section class="panel"><h2>An index that would answer this</h2><${CodeBox} text=${suggestion.definition}
    what="the definition" /></section>`;
}

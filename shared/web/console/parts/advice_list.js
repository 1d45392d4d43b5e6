// Advice in words: what is the matter, and what to do.
import { linkTo } from "../lib/address.js";
import { html } from "../lib/html.js";
import { dollars } from "../lib/words.js";
import { Prose } from "./prose.js";

export function AdviceList({ indexes, linked }) {
  const all = indexes.flatMap((index) => index.advice.map((piece) => ({ index: index.name, ...piece })));
  if (all.length === 0) return html`<p class="panel soft">Nothing to advise.</p>`;
  return html`<ul class="items">${all.map(
    (piece) => html`<li class="panel" data-advice=${piece.code}>
    <div class="row"><span class="pill calm">${piece.code}</span>
      ${linked && html`<a href=${linkTo(["indexes", piece.index, "about"])}>${piece.index}</a>`}
      ${piece.dollarsPerMonth !== null && html`<span class="soft small">
        ${dollars(piece.dollarsPerMonth)} a month</span>`}</div>
    <p><${Prose} text=${`${piece.what}.`} /></p>
    <p class="soft"><${Prose} text=${piece.mend} /></p></li>`,
  )}</ul>`;
}

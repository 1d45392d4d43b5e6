// What something will cost, before it starts.
import { html } from "../../lib/html.js";
import { count, dollars } from "../../lib/words.js";

export function Cost({ of, price, facts }) {
  if (facts === null || price === null)
    return html`<p class="soft small cost">How many facts there are is not known yet, so neither is the cost.</p>`;
  const [least, most] = of.map((amount) => Math.max(1, Math.ceil(amount)));
  const money = [least, most].map((amount) => dollars((amount * price.perMillionTransactions) / 1e6));
  return html`<p class="soft small cost">Will take about ${count(least)}${most > least ? ` to ${count(most)}` : ""} storage transactions for ≈ ${count(facts)} facts: ${money[0] === money[1] ? money[0] : `${money[0]} to ${money[1]}`}.</p>`;
}

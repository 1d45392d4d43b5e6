// What became of replayed dead letters.
import { html } from "../../lib/html.js";
import { count } from "../../lib/words.js";
import { Prose } from "../../parts/prose.js";

const WORDS = {
  applied: ["good", "applied: in its index now"],
  stillFails: ["bad", "still fails: it stays"],
  superseded: ["calm", "superseded: the fact has a newer version"],
  refused: ["warn", "not tried"],
};

export function Outcome({ replayed }) {
  const counts = Object.entries(WORDS)
    .map(([outcome, [kind, text]]) => [kind, text, replayed.filter((one) => one.outcome === outcome).length])
    .filter(([, , number]) => number);
  const details = [...new Set(replayed.filter((one) => one.outcome !== "applied").map((one) => one.detail))].slice(
    0,
    5,
  );
  return html`<div role="status" class="stack outcome">
    <div class="row">${counts.map(([kind, text, number]) => html`<span class=${`pill ${kind}`}>
      ${count(number)} ${text}</span>`)}${counts.length === 0 && html`<span class="pill calm">Nothing to replay</span>`}</div>
    ${details.map((detail) => html`<p class="soft small"><${Prose} text=${detail} /></p>`)}</div>`;
}

// The build of the generation that the definition says.
import { useState } from "preact/hooks";
import { post } from "../../lib/calls.js";
import { buildCost } from "../../lib/costs.js";
import { html } from "../../lib/html.js";
import { progressOf } from "../../lib/standing.js";
import { done, momentOf } from "../../lib/words.js";
import { Prose } from "../../parts/prose.js";
import { Budget, withBudget } from "./budget.js";
import { Cost } from "./cost.js";
import { Running } from "./running.js";

export function Build({ index, path, state: { build, defined }, run, isBusy, price, facts, isNow }) {
  const [budget, setBudget] = useState("");
  const isRunning = build !== null && build.state === "running";
  const progress = isRunning && progressOf({ ...build, done: build.counts.facts || 0, facts }, Date.now() / 1000);
  return html`<section class="panel stack" data-step="build"><h2>1. Build</h2>
    <p class="soft">Every fact is read again into a new generation, which gets every change meanwhile. The old one serves.</p>
    ${defined.builtAt && html`<p><span class="pill good">built</span> ${momentOf(defined.builtAt)}</p>`}
    ${isRunning && html`<${Running} label=${`Build of ${index.name}`} progress=${progress} />`}
    ${build && html`<p class="small">${done(build.counts)}</p>`}
    ${build && build.problem && html`<p class="notice bad"><${Prose} text=${build.problem} /></p>`}
    ${
      isNow &&
      !isRunning &&
      html`<${Cost} of=${buildCost(facts || 0)} price=${price} facts=${facts} /><${Budget} id="build-budget"
        value=${budget} onInput=${setBudget} />
      <div><button type="button" class="main" disabled=${isBusy}
        onClick=${() => run(() => post(`${path}/builds`, withBudget({}, budget)))}>Build</button></div>`
    }
  </section>`;
}

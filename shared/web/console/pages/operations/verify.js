// Verifications: start one, see how far it is and what it found, repair.
import { useState } from "preact/hooks";
import { post } from "../../lib/calls.js";
import { verifyCost } from "../../lib/costs.js";
import { html } from "../../lib/html.js";
import { progressOf } from "../../lib/standing.js";
import { Budget, withBudget } from "./budget.js";
import { Confirm } from "../../parts/dialog.js";
import { Cost } from "./cost.js";
import { Report } from "./report.js";
import { Running } from "./running.js";

const KINDS = [
  ["verify", "Everything"],
  ["sample", "A sample of 1 000 facts"],
];

export function Verify({
  index,
  path,
  state: { defined, serving },
  verifications,
  run,
  isBusy,
  price,
  facts,
  entries,
  isNow,
  title,
}) {
  const [budget, setBudget] = useState("");
  const [kind, setKind] = useState("verify");
  const [isAsking, setAsking] = useState(false);
  const target = defined || serving;
  const latest = verifications.find((one) => target && one.generation === target.id);
  const isRunning = Boolean(latest) && latest.state === "running";
  const start = (members) => run(() => post(`${path}/verifications`, withBudget(members, budget)));
  const repair = () => {
    setAsking(false);
    start({ repair: true });
  };
  return html`<section class="panel stack" data-step="verify"><h2>
    ${title}</h2>
    <p class="soft">Compares table, ledger and facts while everything goes on. Changes on their way do not count as differences.</p>
    ${isRunning && html`<${Running} label=${`Verification of ${index.name}`}
      progress=${progressOf({ startedAt: latest.startedAt, done: latest.facts, facts }, Date.now() / 1000)} />`}
    ${latest && !isRunning && html`<${Report} report=${latest} />`}
    ${
      isNow &&
      !isRunning &&
      html`<${Cost} of=${kind === "sample" ? [1000, 7000] : verifyCost(facts || 0, entries)} price=${price}
        facts=${facts} />
      <div class="row"><div class="choice" role="group" aria-label="How much">${KINDS.map(
        ([name, text]) => html`
        <button type="button" aria-pressed=${kind === name} onClick=${() => setKind(name)}>${text}</button>`,
      )}</div></div>
      <${Budget} id="verify-budget" value=${budget} onInput=${setBudget} />
      <div class="row"><button type="button" class="main" disabled=${isBusy}
        onClick=${() => start(kind === "sample" ? { sample: 1000 } : {})}>Verify</button>
        ${latest && latest.total > 0 && html`<button type="button" disabled=${isBusy}
          onClick=${() => setAsking(true)}>Repair…</button>`}</div>`
    }
    ${
      isAsking &&
      html`<${Confirm} title="Repair" action="Repair" onConfirm=${repair} onClose=${() => setAsking(false)}>
      <p>Rows that are missing or wrong are written again, and rows that should not be there are hidden. Entries of facts that are gone stay: <code>index-tables reconcile</code> removes those.</p>
        <//>`
    }
  </section>`;
}

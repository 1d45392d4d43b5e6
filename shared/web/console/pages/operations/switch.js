// The switch to a generation that is built and verified.
import { useState } from "preact/hooks";
import { post } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { Confirm } from "../../parts/dialog.js";

export function Switch({ path, state: { defined }, run, isBusy, isNow }) {
  const [isAsking, setAsking] = useState(false);
  const force = () => {
    setAsking(false);
    run(() => post(`${path}/switch`, { force: true }));
  };
  return html`<section class="panel stack" data-step="switch"><h2>3. Switch</h2>
    <p class="soft">Every lookup from then on uses the new generation, on every instance. The old one is kept up to date for a while, so that you can roll back. It takes a few storage transactions, whatever the size.</p>
    <div class="row"><button type="button" class="main" disabled=${isBusy || !isNow}
      onClick=${() => run(() => post(`${path}/switch`, {}))}>Switch</button>
      ${!isNow && defined.state === "standby" && html`<button type="button" class="risky" disabled=${isBusy}
        onClick=${() => setAsking(true)}>Switch without verification…</button>`}</div>
    ${
      isAsking &&
      html`<${Confirm} title="Switch without verification" action="Switch" isRisky onConfirm=${force}
        onClose=${() => setAsking(false)}>
      <p>The new generation was not verified since it was built, or had differences. Lookups may miss entries or show wrong ones.</p>
        <//>`
    }
  </section>`;
}

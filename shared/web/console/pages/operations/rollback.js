// Back to the generation that served before.
import { useState } from "preact/hooks";
import { post } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { Confirm } from "../../parts/dialog.js";

export function Rollback({ path, state: { serving, defined }, generations, run, isBusy }) {
  const [isAsking, setAsking] = useState(false);
  const isBefore = (one) =>
    one.state === "standby" && one.id !== (defined && defined.id) && one.id !== (serving && serving.id);
  const before = generations.filter(isBefore);
  const back = () => {
    setAsking(false);
    run(() => post(`${path}/rollback`));
  };
  return html`<section class="panel stack" data-step="rollback"><h2>Roll back</h2>
    ${
      before.length
        ? html`<p class="soft">The generation before (<code>
          ${before[0].id}</code>) is kept up to date, and can serve again.</p>
      <div><button type="button" disabled=${isBusy} onClick=${() => setAsking(true)}>Roll back…</button></div>`
        : html`<p class="soft">There is no generation that served before and is still kept.</p>`
    }
    ${
      isAsking &&
      html`<${Confirm} title="Roll back" action="Roll back" onConfirm=${back} onClose=${() => setAsking(false)}>
      <p>Every lookup uses the generation before again. The one that serves now is kept; you can switch to it again.</p>
        <//>`
    }
  </section>`;
}

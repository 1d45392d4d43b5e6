// Forgets dead letters for good, after a question.
import { useState } from "preact/hooks";
import { post, queryOf, withQuery } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { useAction } from "../../lib/load.js";
import { plural } from "../../lib/words.js";
import { Dialog } from "../../parts/dialog.js";
import { Trouble } from "../../parts/states.js";

export function Purge({ query, chosen, onDone }) {
  const [isOpen, setOpen] = useState(false);
  const [days, setDays] = useState("30");
  const purge = useAction();
  const start = () =>
    purge.run(async () => {
      let purged = 0;
      const first = new URLSearchParams(query);
      first.set("olderThanDays", days);
      for (let next = String(first); next !== null;) {
        const page = await post(withQuery("dead-letters/purge", next));
        purged += page.purged;
        next = page.nextLink ? queryOf(page.nextLink) : null;
      }
      return purged;
    });
  const close = () => {
    setOpen(false);
    purge.forget();
    onDone();
  };
  const which = chosen.length
    ? `with ${chosen.map(([name, value]) => `${name} ${value}`).join(", ")}`
    : "of all sources and indexes";
  return html`<button type="button" class="risky" onClick=${() => setOpen(true)}>Purge…</button>
    ${
      isOpen &&
      html`<${Dialog} title="Purge dead letters" isNarrow onClose=${close}>
      ${
        purge.value === undefined
          ? html`<p>Dead letters ${which} are forgotten for good, with what arrived. The entries of those facts stay as they are.</p>
        <label class="field"><span>Older than this many days; 0 for all of them</span><input type="number" min="0"
          max="3650" value=${days} onInput=${(event) => setDays(event.target.value)} /></label>
        <div class="end"><button type="button" class="risky" disabled=${purge.isRunning || days === ""}
          onClick=${start}>${purge.isRunning ? "Purging…" : "Purge for good"}</button></div>`
          : html`<p role="status">
            ${plural(purge.value, "dead letter")} ${purge.value === 1 ? "is" : "are"} forgotten.</p>`
      }
      ${purge.problem && html`<${Trouble} problem=${purge.problem} needs="admin" />`}<//>`
    }`;
}

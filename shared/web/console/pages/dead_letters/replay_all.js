// Replays everything that the filter names, page by page.
import { useState } from "preact/hooks";
import { post, queryOf, withQuery } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { useAction } from "../../lib/load.js";
import { plural } from "../../lib/words.js";
import { Dialog } from "../../parts/dialog.js";
import { Trouble } from "../../parts/states.js";
import { Outcome } from "./outcome.js";

export function ReplayAll({ query, isFiltered, onDone }) {
  const [isOpen, setOpen] = useState(false);
  const [done, setDone] = useState([]);
  const replay = useAction();
  const start = () =>
    replay.run(async () => {
      const all = [];
      for (let next = query; next !== null;) {
        const page = await post(withQuery("dead-letters/replay", next));
        all.push(...page.value);
        setDone([...all]);
        next = page.nextLink ? queryOf(page.nextLink) : null;
      }
      return all;
    });
  const open = () => {
    setDone([]);
    setOpen(true);
    start();
  };
  const close = () => {
    setOpen(false);
    replay.forget();
    onDone();
  };
  return html`<button type="button" class="main" onClick=${open}>
    ${isFiltered ? "Replay all that match" : "Replay all"}</button>
    ${
      isOpen &&
      html`<${Dialog} title="Replay" isNarrow onClose=${close}>
      ${replay.isRunning ? html`<p role="status">Replaying… ${plural(done.length, "dead letter")} so far.</p>` : html`<${Outcome}
        replayed=${done} />`}
      ${replay.problem && html`<${Trouble} problem=${replay.problem} needs="admin" />`}<//>`
    }`;
}

// One dead letter: why, what arrived with the path that failed marked, and its replay.
import { encoded, get, post } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { useAction, useLoad } from "../../lib/load.js";
import { momentOf, shown } from "../../lib/words.js";
import { Dialog } from "../../parts/dialog.js";
import { Facts } from "../../parts/facts.js";
import { JsonView } from "../../parts/json_view.js";
import { Prose } from "../../parts/prose.js";
import { Loaded, Trouble } from "../../parts/states.js";
import { Outcome } from "./outcome.js";

// Reasons name a path in double quotes, those that an earlier version stored in backticks:
// 'old' at "age" is not of type integer.
export function failedPath(reason, document) {
  const names = reason.split(/[`"]/);
  return (
    names.find(
      (path) =>
        path
          .split(".")
          .reduce(
            (value, step) =>
              value !== null && typeof value === "object" && Object.hasOwn(value, step) ? value[step] : undefined,
            document,
          ) !== undefined,
    ) ?? null
  );
}

export function Letter({ letter, onClose, onReplayed }) {
  const whole = useLoad(() => get(`dead-letters/${encoded(letter.id)}`), [letter.id]);
  const replay = useAction();
  const close = () => {
    onClose();
    if (replay.value) onReplayed();
  };
  return html`<${Dialog} title=${letter.fact ? `Dead letter of fact ${letter.fact.id}` : "Unreadable change"}
    onClose=${close}>
    <p><${Prose} text=${letter.reason} /></p>
    <${Facts} facts=${[
      ["Source", letter.source],
      ["Index", letter.index || "–"],
      ["Kind", letter.kind],
      ["Failed", momentOf(letter.failedAt)],
      ...(letter.fact && letter.fact.partitionKey !== undefined
        ? [["Partition key", shown(letter.fact.partitionKey)]]
        : []),
    ]} />
    <h3>What arrived</h3>
    <${Loaded} of=${whole} needs="admin" what="the document">${({ document }) => html`<${JsonView} value=${document}
      marked=${failedPath(letter.reason, document)} label="What arrived" />`}<//>
    ${replay.value && html`<${Outcome} replayed=${[replay.value]} />`}
    ${replay.problem && html`<${Trouble} problem=${replay.problem} needs="admin" />`}
    ${
      !replay.value &&
      html`<div class="end"><button type="button" class="main" disabled=${replay.isRunning}
      onClick=${() => replay.run(() => post(`dead-letters/${encoded(letter.id)}/replay`))}>
        ${replay.isRunning ? "Replaying…" : "Replay"}</button></div>`
    }
  <//>`;
}

// Spreads an index over other shards: the layout is part of the definition, so it is changed there and then moved to.
import { useState } from "preact/hooks";
import { post } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { definitionYaml } from "../../lib/yaml.js";
import { CodeBox } from "../../parts/copy.js";
import { Confirm } from "../../parts/dialog.js";

export function Rebalance({ index, path, state: { serving }, advice, isChanging, run, isBusy }) {
  const advised = advice.find((piece) => piece.change && ("shards" in piece.change || "hot" in piece.change));
  const [shards, setShards] = useState(String((advised && advised.change.shards) || index.shards));
  const [isAsking, setAsking] = useState(false);
  const changed = {
    ...index,
    shards: Number(shards) || 1,
    ...(advised && advised.change.hot ? { hot: { ...index.hot, ...advised.change.hot } } : {}),
  };
  const stop = () => {
    setAsking(false);
    run(() => post(`${path}/read-only`));
  };
  return html`<section class="panel stack" data-step="rebalance"><h2>Rebalance</h2>
    ${advised ? html`<p>${advised.what}. <span class="soft">${advised.mend}</span>
      </p>` : html`<p class="soft">There is no advice on the layout of this index: its partitions are spread well enough, or there are too few entries to tell.</p>`}
    <label class="field budget"><span>Shards of each partition</span><input type="number" min="1" max="256"
      value=${shards} onInput=${(event) => setShards(event.target.value)} /></label>
    <details open=${Boolean(advised)}><summary>The definition with this layout</summary><div class="stack after">
      <p class="soft">Put it into <code>indexes.yaml</code> and deploy: then this page builds, verifies and switches to it.
      <code>index-tables rebalance ${index.name} --shards ${changed.shards} --apply</code> does all of it.</p>
      <${CodeBox} text=${definitionYaml(changed)} what="the definition" /></div></details>
    ${isChanging && serving && !serving.readOnlySince && html`<div><button type="button" class="risky"
      disabled=${isBusy} onClick=${() => setAsking(true)}>Write to the new generation alone…</button></div>`}
    ${
      isAsking &&
      html`<${Confirm} title="Write to the new generation alone"
        action="Stop writing to the old one" isRisky onConfirm=${stop} onClose=${() => setAsking(false)}>
      <p>This saves writes while the new generation is built. Lookups see what the old one had, it cannot be rolled back to, and it goes at once after the switch.</p>
        <//>`
    }
  </section>`;
}

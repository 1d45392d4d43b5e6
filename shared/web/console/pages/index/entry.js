// One entry as JSON, and the fact that it was made from, as it is now.
import { encoded, get } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { useLoad } from "../../lib/load.js";
import { keyParameters } from "../../lib/parameters.js";
import { Dialog } from "../../parts/dialog.js";
import { JsonView } from "../../parts/json_view.js";
import { Trouble, Waiting } from "../../parts/states.js";

export function Entry({ index, entry, onClose }) {
  const hasFact = entry.id !== undefined;
  const fact = useLoad(hasFact ? () => factOf(index, entry) : null, [entry.id]);
  return html`<${Dialog} title=${hasFact ? `Entry of fact ${entry.id}` : "Group"} onClose=${onClose}>
    <h3>Entry</h3><${JsonView} value=${entry} label="Entry" />
    ${hasFact && html`<h3>Fact</h3><${Fact} fact=${fact} />`}
  <//>`;
}

function Fact({ fact }) {
  if (fact.problem && fact.problem.code === "ExpandNotPossible")
    return html`<p class="soft">Facts of this source arrive as events: there is no container to read one from.</p>`;
  if (fact.problem) return html`<${Trouble} problem=${fact.problem} retry=${fact.reload} />`;
  if (fact.isLoading) return html`<${Waiting} what="the fact" />`;
  if (fact.value === null)
    return html`<p class="notice warn">The fact is gone, or does not have this key any more.</p>`;
  return html`<${JsonView} value=${fact.value} label="Fact" />`;
}

// The lookup of its whole key, with facts: several facts may share a key.
async function factOf(index, entry) {
  const query = new URLSearchParams([...keyParameters(index, entry.key), ["expand", "fact"]]);
  const page = await get(`indexes/${encoded(index.name)}/entries?${query}`);
  const same = (one) => one.id === entry.id && JSON.stringify(one.partitionKey) === JSON.stringify(entry.partitionKey);
  const found = page.value.find(same);
  return found ? found.fact : null;
}

// The faults of a definitions file: each with its place, what is wrong, and what to do.
import { html } from "../lib/html.js";
import { PageHead } from "./page_head.js";
import { Prose } from "./prose.js";

// As the app writes them: "indexes.yaml:12: indexes.by-town.sort: what is wrong. What to do."
export function readFault(text) {
  const found = /^(\S+:\d+): (?:([\w.[\]-]+): )?([\s\S]*)$/.exec(text);
  return found ? { place: found[1], key: found[2] || "", what: found[3] } : { place: "", key: "", what: text };
}

export function Faults({ problem }) {
  const faults = (problem.errors.length ? problem.errors.map((error) => error.detail) : [problem.message]).map(
    readFault,
  );
  return html`<section data-problem="DefinitionsBroken" class="stack">
    <${PageHead} title="The definitions have faults"
      about="The app serves nothing until they are fixed and deployed. Entries and facts are not touched." />
    <div role="alert"><ol class="faults panel">${faults.map(
      (fault) => html`<li>
      ${fault.place && html`<code class="pill bad">${fault.place}</code>`} ${fault.key && html`<code>
        ${fault.key}</code>`}
      <p><${Prose} text=${fault.what} /></p></li>`,
    )}</ol></div>
    <p class="soft"><code>index-tables validate</code> finds the same before a deployment.</p>
  </section>`;
}

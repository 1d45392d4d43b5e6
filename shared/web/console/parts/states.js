// What stands where there is nothing to show yet, nothing at all, or something wrong.
import { html } from "../lib/html.js";
import { AskForKey } from "./ask_for_key.js";
import { Faults } from "./faults.js";
import { Prose } from "./prose.js";

export const Waiting = ({ what = "" }) => html`<div class="panel waiting" role="status">
  <p class="hidden-text">Loading ${what}</p><span></span><span></span><span></span></div>`;

export const Empty = ({ title, children }) => html`<div class="panel empty"><h2>${title}</h2>${children}</div>`;

const OUTAGES = new Set(["StorageUnreachable", "StorageBusy", "FactsUnavailable"]);

// A problem, with what the reader can do about it.
export function Trouble({ problem, needs = "function", retry, isWhole }) {
  if (problem.status === 401) return html`<${AskForKey} problem=${problem} needs=${needs} isWhole=${isWhole} />`;
  if (problem.code === "DefinitionsBroken") return html`<${Faults} problem=${problem} />`;
  const isOutage = problem.status === 0 || OUTAGES.has(problem.code);
  const kind = isOutage || problem.status >= 500 ? "bad" : "warn";
  return html`<section class=${`notice ${kind}`} role="alert" data-problem=${problem.code || problem.status}>
    <h2>${problem.title || "That did not work"}</h2>
    <p><${Prose} text=${problem.message} /></p>
    ${problem.errors.length > 1 && html`<ul>${problem.errors.map((error) => html`<li>
      <${Prose} text=${error.detail} /></li>`)}</ul>`}
    ${retry && html`<p><button type="button" onClick=${retry}>Try again</button></p>`}
  </section>`;
}

// One loaded thing: waiting for it, what is wrong with it, or what `children` makes of it.
export function Loaded({ of, what, needs, children }) {
  if (of.value === undefined && of.problem)
    return html`<${Trouble} problem=${of.problem} needs=${needs} retry=${of.reload} />`;
  if (of.value === undefined) return html`<${Waiting} what=${what} />`;
  return html`${of.problem && html`<${Trouble} problem=${of.problem} needs=${needs}
    retry=${of.reload} />`}${children(of.value)}`;
}

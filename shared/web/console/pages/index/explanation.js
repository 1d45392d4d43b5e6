// How a lookup runs, drawn: what is asked at once, where in a partition, and how many transactions that takes.
import { encoded, get } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { useLoad } from "../../lib/load.js";
import { plural } from "../../lib/words.js";

const SHOWN = 8;

export function Explanation({ index, parameters }) {
  const query = String(new URLSearchParams(parameters));
  const explained = useLoad(() => get(`indexes/${encoded(index.name)}/explain?${query}`), [query]);
  // What is wrong with a question stands in the place of its answer.
  if (!explained.value) return null;
  const { value } = explained;
  return html`<section class="panel stack" aria-label="How this lookup runs">
    <div class="row spread"><h2>How this lookup runs</h2><span class="pill calm">${value.access}</span></div>
    <p class="soft">${value.explanation}</p>
    ${value.access !== "refused" && html`<${Drawing} plan=${value} />`}
  </section>`;
}

function Drawing({ plan }) {
  const reads = plan.parallelReads,
    keys = plan.partitionKeys;
  return html`<ol class="drawing">
    <li><strong>1 question</strong><small>${plan.table}</small></li>
    <li class="wide"><strong>
      ${plural(plan.partitions, "partition")}${plan.shards > 1 ? ` × ${plan.shards} shards` : ""}${plan.tables > 1 ? ` × ${plan.tables} tables` : ""}</strong>
      <ul>${keys.slice(0, SHOWN).map((key) => html`<li><code>${printed(key)}</code><${Stretch} access=${plan.access}
        rows=${plan.rowKeys} /></li>`)}</ul>
      ${keys.length > SHOWN && html`<small>and ${keys.length - SHOWN} more</small>`}</li>
    <li><strong>${reads > 1 ? `${reads} reads at once` : "1 read"}</strong>
      <small>in ${plan.accounts.join(", ")}</small></li>
    <li><strong>${plural(plan.storageTransactionsPerPage, "transaction")}</strong>
      <small>for a page${plan.factReadsPerPage ? `, and ${plan.factReadsPerPage} reads of facts` : ""}</small></li>
  </ol>`;
}

// A partition as a bar, with the stretch of it that is read.
function Stretch({ access, rows }) {
  const from = printed(rows.from),
    before = printed(rows.before);
  const isWhole = access === "partition" || (from === "" && before === "");
  const words = isWhole ? "all rows" : access === "point" ? "one key" : between(from, before);
  return html`<span class=${`stretch ${isWhole ? "whole" : access === "point" ? "point" : "some"}`}><span></span>
    </span><small>${words}</small>`;
}

function between(first, last) {
  if (first === last) return `what begins with ${first}`;
  return `from ${first || "the first"} to ${last || "the last"}`;
}

// Keys end in characters that only mark an end.
const printed = (key) =>
  key
    .replace(/[\u0000-\u001f\uffee-\uffff].*$/, "")
    .replace(/ !$/, "")
    .trim();

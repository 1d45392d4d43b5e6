// The storage accounts: whether they answer, and how many calls are out.
import { html } from "../../lib/html.js";
import { count, duration } from "../../lib/words.js";
import { Facts } from "../../parts/facts.js";
import { Pill } from "../../parts/pill.js";
import { Table } from "../../parts/table.js";

function limits({ limit, limitMax, inFlight, waiting, latencyRatio, lastCut }) {
  const queued = waiting.callers + waiting.feed + waiting.background;
  const cut = lastCut
    ? `; cut from ${lastCut.before} to ${lastCut.after} ${duration(lastCut.secondsAgo)} ago (${lastCut.reason})`
    : "";
  return `${inFlight} of ${limit} (at most ${limitMax}), ${queued} wait, latency ${latencyRatio} of quiet${cut}`;
}

const COLUMNS = [
  { name: "Account", cell: (one) => one.name },
  {
    name: "State",
    cell: (one) =>
      html`<${Pill} text=${one.answers ? "answers" : "does not answer"} kind=${one.answers ? "good" : "bad"} />`,
  },
  { name: "Transactions", isNumber: true, cell: (one) => count(one.transactions.changes + one.transactions.lookups) },
  { name: "Calls at once", isWide: true, cell: (one) => (one.limiter ? limits(one.limiter) : "–") },
];

export const Storage = ({ storage: { isReachable, breaker, accounts } }) => html`
  <div class="panel" id="storage"><${Facts} facts=${[
    [
      "Index storage",
      html`<${Pill} text=${isReachable ? "answers" : "does not answer"} kind=${isReachable ? "good" : "bad"} />`,
    ],
    ["Breaker", html`<${Pill} text=${breaker.state} />`],
    ["Failures in a row", count(breaker.failures)],
    ["Last outage", breaker.lastOutageSeconds === null ? "none seen" : duration(breaker.lastOutageSeconds)],
    ["Last error", breaker.lastError || "none seen"],
  ]} /></div>
  <${Table} label="Storage accounts" columns=${COLUMNS} rows=${accounts} keyOf=${(one) => one.name} />`;

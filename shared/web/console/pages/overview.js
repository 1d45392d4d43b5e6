// How things are: what needs attention first, how far behind, how much is done, what it costs.
import { get } from "../lib/calls.js";
import { attention } from "../lib/attention.js";
import { headline } from "../lib/headline.js";
import { html } from "../lib/html.js";
import { useLoad } from "../lib/load.js";
import { lately, withLive } from "../lib/rates.js";
import { dollars, duration, exactDollars, moment, rate } from "../lib/words.js";
import { AdviceList } from "../parts/advice_list.js";
import { PageHead } from "../parts/page_head.js";
import { Prose } from "../parts/prose.js";
import { Loaded } from "../parts/states.js";
import { Charts } from "./overview/charts.js";
import { IndexTable } from "./overview/index_table.js";
import { useLive } from "./overview/live.js";
import { SourceTable } from "./overview/source_table.js";
import { Storage } from "./overview/storage.js";

const HISTORY_SECONDS = 60,
  ADVICE_SECONDS = 600,
  SECONDS_A_MONTH = 30.44 * 86400;

export function OverviewPage({ status, isPaused }) {
  const live = useLive(status.value);
  const history = useLoad(() => get("status/history"), [], isPaused ? 0 : HISTORY_SECONDS);
  const advice = useLoad(() => get("advice"), [], isPaused ? 0 : ADVICE_SECONDS);
  const told = status.value && headline(status.value);
  return html`<${PageHead} title="Overview">${told && html`<p id="headline" role="status"
    class=${`pill headline ${told.kind}`}>${told.text}</p>`}<//>
    <${Loaded} of=${status} what="the status">${(value) => html`<${Report} status=${value} live=${live}
      history=${history.value || { value: [], counted: [] }} advice=${advice.value} />`}<//>`;
}

function Report({ status, live, history, advice }) {
  const counted = withLive(history.counted, live.counted);
  return html`<${Attention} items=${attention(status)} />
    <${Numbers} status=${status} counted=${counted} />
    <${Charts} status=${status} history=${history} live=${live} counted=${counted} />
    <section class="stack"><h2>Sources</h2><${SourceTable} sources=${status.sources} /></section>
    <section class="stack"><h2>Indexes</h2><${IndexTable} indexes=${status.indexes} advice=${advice} />
      <p class="soft small">Entries are an estimate from a sample. Written and removed are what changes did${status.counters.sinceSeconds === null ? "" : ` since ${moment(status.counters.sinceSeconds)}`}; builds are not counted there.
        Money is storage transactions at ${exactDollars(status.prices.perMillionTransactions)} a million, prices of ${status.prices.date}.</p>
          </section>
    ${advice && html`<section class="stack"><h2>Advice</h2><${AdviceList} indexes=${advice.indexes} linked />
      </section>`}
    <section class="stack"><h2>Storage</h2><${Storage} storage=${status.storage} /></section>`;
}

const Attention = ({ items }) =>
  items.length > 0 &&
  html`<section aria-labelledby="attention"><h2 id="attention" class="hidden-text">Needs attention</h2>
  <ul class="items">${items.map(
    (
      item,
    ) => html`<li class=${`notice ${item.kind}`}><div class="row spread"><strong>${item.what}</strong>
      ${item.link && html`<a href=${item.link}>${item.action}</a>`}</div>
    ${item.more && html`<p><${Prose} text=${item.more} /></p>`}</li>`,
  )}</ul></section>`;

function Numbers({ status, counted }) {
  const now = Date.parse(status.at) / 1000,
    late = (name) => lately(counted, name, now);
  const lags = status.sources.map((source) => source.lagSeconds),
    transactions = late("transactions");
  const monthly =
    transactions === null ? null : (transactions * SECONDS_A_MONTH * status.prices.perMillionTransactions) / 1e6;
  const tiles = [
    ["Longest lag", lags.includes(null) || !lags.length ? "unknown" : duration(Math.max(...lags)), "now"],
    ["Changes", rate(late("changes")), "last hour"],
    ["Lookups", rate(late("lookups")), "last hour"],
    ["Storage", transactions === null ? "measuring…" : dollars(monthly), "a month at this rate"],
  ];
  return html`<dl class="tiles">${tiles.map(([name, value, when]) => html`<div class="panel" key=${name}><dt>
    ${name}</dt><dd>${value}</dd><dd class="when">${when}</dd></div>`)}</dl>`;
}

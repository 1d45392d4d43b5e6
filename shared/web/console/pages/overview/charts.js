// Lag and throughput under each other, on one axis of time.
import { useState } from "preact/hooks";
import { html } from "../../lib/html.js";
import { DAY, HOUR, MEASURES, ratesOf, since } from "../../lib/rates.js";
import { duration, rate } from "../../lib/words.js";
import { Chart } from "../../parts/chart.js";

const SPANS = [
  ["Hour", HOUR],
  ["Day", DAY],
];
const SHORTEST_SECONDS = 240;
const TITLES = {
  changes: "Changes applied",
  entries: "Entries written and removed",
  lookups: "Lookups",
  transactions: "Storage transactions",
};
const seconds = (value) =>
  value === null || value === undefined ? "unknown" : value < 1 && value > 0 ? "< 1 s" : duration(value);

export function Charts({ status, history, live, counted }) {
  const [span, setSpan] = useState(HOUR);
  const now = Math.floor(Date.parse(status.at) / 1000);
  const rates = since(ratesOf(counted), span, now),
    times = rates.map((point) => point.atSeconds);
  const lags = lagLines(status, history, live, span, now);
  // An app that is new fills its charts with what there is.
  const range = [Math.min(lags.times[0] ?? now, times[0] ?? now, now - SHORTEST_SECONDS), now];
  return html`<section class="panel charts"><div class="row spread"><h2>Lag and throughput</h2>
    <div class="choice" role="group" aria-label="How far back">${SPANS.map(
      ([name, of]) => html`
      <button type="button" aria-pressed=${span === of} onClick=${() => setSpan(of)}>${name}</button>`,
    )}</div></div>
    <${Chart} title="Lag" ...${lags} range=${range} wording=${seconds} group="overview" />
    ${MEASURES.map(
      (
        name,
        place,
      ) => html`<${Chart} key=${name} title=${TITLES[name]} times=${times} range=${range} wording=${rate}
        group="overview"
      series=${[{ name, values: rates.map((point) => point[name]) }]} hasAxis=${place === MEASURES.length - 1} />`,
    )}
  </section>`;
}

// The points of all sources on the moments of any of them.
function lagLines(status, history, live, span, now) {
  const names = status.sources.map((source) => source.name);
  const at = new Map();
  for (const { source, points } of history.value)
    for (const point of points) at.set(point.atSeconds, { ...at.get(point.atSeconds), [source]: point.lagSeconds });
  const last = Math.max(0, ...at.keys());
  for (const { atSeconds, ...lags } of live.lags) if (atSeconds > last) at.set(atSeconds, lags);
  const times = [...at.keys()].filter((time) => time > now - span).sort((one, other) => one - other);
  return { times, series: names.map((name) => ({ name, values: times.map((time) => at.get(time)[name] ?? null) })) };
}

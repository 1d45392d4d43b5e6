// A chart of some values over time. Several in a stack share an axis: the pointer marks the same moment in all.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../lib/html.js";
import { useDark, useWidth } from "../lib/screen.js";
import { clock } from "../lib/words.js";

const HEIGHT = 84,
  AXIS_HEIGHT = 26,
  LEFT = 58;
const COLORS = ["--accent", "--second", "--good", "--warn", "--bad"];
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// `series` are `{ name, values }`, one value for each of `times`.
export function Chart({ title, times, series, range, wording, hasAxis, group }) {
  const holder = useRef(null),
    chart = useRef(null),
    shown = useRef(range);
  shown.current = range;
  const [at, setAt] = useState(null);
  const width = useWidth(holder),
    isDark = useDark();
  const columns = [times, ...series.map((one) => one.values)];
  useEffect(() => {
    if (!width) return undefined;
    chart.current = new uPlot(
      options({ width, series, shown, wording, hasAxis, group, setAt }),
      columns,
      holder.current,
    );
    return () => chart.current.destroy();
  }, [width, isDark, series.length, hasAxis]);
  useEffect(() => {
    if (chart.current) chart.current.setData(columns);
  });
  return html`<figure class="chart">
    <figcaption><strong>${title}</strong> <span class="soft">${legend(times, series, at, wording)}</span></figcaption>
    <div ref=${holder} aria-hidden="true" style=${{ height: `${HEIGHT + (hasAxis ? AXIS_HEIGHT : 0)}px` }}></div>
  </figure>`;
}

function legend(times, series, at, wording) {
  const place = at === null || at >= times.length ? times.length - 1 : at;
  if (place < 0) return "measuring…";
  const values = series.map((one) => `${series.length > 1 ? `${one.name} ` : ""}${wording(one.values[place])}`);
  const known = series.flatMap((one) => one.values).filter((value) => value !== null);
  const most = known.length ? `; highest sample ${wording(Math.max(...known))}` : "";
  return at === null ? `${values.join(", ")} now${most}` : `${values.join(", ")} at ${clock(times[place])}`;
}

// Within a few minutes there are several marks in each.
const oncePerMinute = (time, place, times) => (place && clock(times[place - 1]) === clock(time) ? "" : clock(time));

// Of a line that is hardly one, the points are shown.
const isShort = (plot, number) => plot.data[number].filter((value) => value !== null).length < 3;

function options({ width, series, shown, wording, hasAxis, group, setAt }) {
  const axis = {
    stroke: color("--soft"),
    font: "11px system-ui",
    grid: { stroke: color("--grid"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT + (hasAxis ? AXIS_HEIGHT : 0),
    legend: { show: false },
    padding: [6, 6, hasAxis ? 0 : 6, 0],
    cursor: { sync: { key: group }, y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: true, range: () => shown.current },
      y: { range: (_, low, high) => [0, Math.max(1e-9, high || 1) * 1.15] },
    },
    axes: [
      { ...axis, size: AXIS_HEIGHT, gap: 6, space: 80, show: hasAxis, values: (_, ticks) => ticks.map(oncePerMinute) },
      { ...axis, size: LEFT, gap: 6, space: 30, values: (_, ticks) => ticks.map(wording) },
    ],
    series: [
      {},
      ...series.map((_, place) => ({
        stroke: color(COLORS[place % COLORS.length]),
        width: 2,
        spanGaps: false,
        fill: series.length === 1 ? `${color(COLORS[0])}1f` : undefined,
        points: { show: isShort, size: 5 },
      })),
    ],
    hooks: { setCursor: [(plot) => setAt(plot.cursor.idx === undefined ? null : plot.cursor.idx)] },
  };
}

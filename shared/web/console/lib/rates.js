// Rates and lags over time: what the app has kept, and since then what this page has seen itself.

export const HOUR = 3600,
  DAY = 86400;
const LIVE_SECONDS = 20;
export const MEASURES = ["changes", "entries", "lookups", "transactions"];

// What a status says has been done, ever.
export function countsOf(status) {
  const sum = (all, of) => all.reduce((total, one) => total + of(one), 0);
  return {
    atSeconds: Math.floor(Date.parse(status.at) / 1000),
    changes: sum(status.sources, (one) => one.applied),
    entries: sum(status.indexes, (one) => one.entriesWritten + one.entriesRemoved),
    lookups: sum(status.indexes, (one) => one.lookups),
    transactions: sum(status.storage.accounts, (one) => one.transactions.changes + one.transactions.lookups),
  };
}

// Points far enough apart, so that a rate is not one of a moment.
export function withLive(kept, live) {
  const points = [...kept];
  for (const point of live)
    if (!points.length || point.atSeconds - points.at(-1).atSeconds >= LIVE_SECONDS) points.push(point);
  return points;
}

// Per second, for each stretch between two points; a count that went back (an instance was lost) tells nothing.
export function ratesOf(points) {
  return points.slice(1).map((point, place) => {
    const before = points[place],
      seconds = point.atSeconds - before.atSeconds;
    const rates = MEASURES.map((name) => [
      name,
      seconds > 0 && point[name] >= before[name] ? (point[name] - before[name]) / seconds : null,
    ]);
    return { atSeconds: point.atSeconds, ...Object.fromEntries(rates) };
  });
}

export const since = (points, seconds, now) => points.filter((point) => point.atSeconds > now - seconds);

// The rate of late: over the last hour, as far as it is known.
export function lately(points, name, now) {
  const late = since(points, HOUR, now);
  const first = late[0],
    last = late.at(-1);
  if (!first || last.atSeconds - first.atSeconds < LIVE_SECONDS || last[name] < first[name]) return null;
  return (last[name] - first[name]) / (last.atSeconds - first.atSeconds);
}

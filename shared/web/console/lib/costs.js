// What long work will cost in storage transactions, as `index-tables plan` reckons it.

// Facts of a source, from the samples of all its indexes.
export function factsOf(source, indexes, advice) {
  const own = new Set(indexes.filter((index) => index.source === source).map((index) => index.name));
  const known = advice.indexes
    .filter((one) => own.has(one.name))
    .map(({ statistics }) => statistics.factsSampled / (statistics.ledgerShare || 1));
  return known.length ? Math.round(Math.max(...known)) : null;
}

// Read twice, a thousand at a time; claimed and written, a hundred at a time or alone.
export const buildCost = (facts) => [facts * (2 / 1000 + 2 / 100), facts * (1 + 1 / 100 + 1 / 1000 + 1)];

// A thousand rows of ledger and table at a time, and once more when something differs.
export const verifyCost = (facts, entries) => [2 + (facts + entries) / 1000, 2 * (2 + (facts + entries) / 1000)];

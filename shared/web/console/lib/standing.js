// How an index stands between what serves and what its definition says, and what the next step is.

// Steps are "build", "verify", "switch" or null.
export function standing({ serving, defined, build }) {
  const isBuilding = build !== null && build.state === "running";
  if (defined === null || defined.state === "serving")
    return { step: null, kind: "good", text: "What serves is what the definition says" };
  const change = serving === null ? "New index" : "Changed definition";
  if (isBuilding) return { step: "build", kind: "warn", text: `${change}: being built`, isRunning: true };
  if (defined.state === "building") return { step: "build", kind: "warn", text: `${change}: to be built` };
  if (defined.verified === null) return { step: "verify", kind: "warn", text: `${change}: built, to be verified` };
  if (defined.verified.differences > 0)
    return { step: "verify", kind: "bad", text: `${change}: ${defined.verified.differences} differences` };
  return { step: "switch", kind: "warn", text: `${change}: verified, ready to serve` };
}

// How far long work is, from 0 to 1, and how many seconds it may still take; null where that cannot be told.
export function progressOf({ startedAt, notBefore, slices, slicesDone, done, facts }, nowSeconds) {
  const began = Math.max(Date.parse(startedAt), notBefore ? Date.parse(notBefore) : 0) / 1000;
  const bySlices = slices ? slicesDone / slices : 0,
    byFacts = facts ? Math.min(0.99, done / facts) : 0;
  const share = Math.max(bySlices, byFacts),
    elapsed = nowSeconds - began;
  return {
    share,
    waits: Math.max(0, -elapsed),
    left: share > 0.02 && elapsed > 0 ? (elapsed * (1 - share)) / share : null,
  };
}

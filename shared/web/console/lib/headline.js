// One sentence about everything.
import { attention, FRESH_SECONDS } from "./attention.js";
import { count, duration } from "./words.js";

// The one sentence that is true: the worst, or that all is well and how well.
export function headline(status) {
  const worst = attention(status).find((item) => item.kind === "bad") || attention(status)[0];
  const lags = status.sources.map((one) => one.lagSeconds).filter((lag) => lag !== null);
  const waiting = status.deadLetters.count;
  if (worst && worst.kind === "bad") return { kind: "bad", text: worst.what };
  if (status.unknown.length) return { kind: "warn", text: "Not everything is known right now" };
  if (status.sources.length === 0) return { kind: "calm", text: "There are no sources yet" };
  const lag = Math.max(0, ...lags);
  if (lag >= FRESH_SECONDS) return { kind: "warn", text: `Up to ${duration(lag)} behind` };
  if (waiting)
    return {
      kind: "warn",
      text: `Up to date, but for ${count(waiting)}${status.deadLetters.hasMore ? " or more" : ""} dead letter${waiting === 1 ? "" : "s"}`,
    };
  return { kind: "good", text: lag < 1 ? "Everything is up to date" : `Up to date within ${duration(lag)}` };
}

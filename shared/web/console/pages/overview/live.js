// What this page has seen since it was opened, so that charts move before the app keeps its next point.
import { useRef } from "preact/hooks";
import { countsOf } from "../../lib/rates.js";

const MOST = 720;

export function useLive(status) {
  const seen = useRef({ at: "", counted: [], lags: [] });
  if (status && status.at !== seen.current.at) {
    const counted = countsOf(status);
    const lags = {
      atSeconds: counted.atSeconds,
      ...Object.fromEntries(status.sources.map((source) => [source.name, source.lagSeconds])),
    };
    seen.current = {
      at: status.at,
      counted: [...seen.current.counted, counted].slice(-MOST),
      lags: [...seen.current.lags, lags].slice(-MOST),
    };
  }
  return seen.current;
}

// The reader's key or token. It is kept in memory alone: not in storage, not in an address, gone with the page.
import { useEffect, useState } from "preact/hooks";

let secret = "",
  isToken = false,
  turn = 0;
const listeners = new Set();

export function give(text, asToken) {
  [secret, isToken] = [text.trim(), asToken];
  turn += 1;
  for (const listener of listeners) listener(turn);
}

export const hasSecret = () => secret !== "";

export const hasToken = () => hasSecret() && isToken;

export function secretHeaders() {
  if (!secret) return {};
  return isToken ? { Authorization: `Bearer ${secret}` } : { "x-functions-key": secret };
}

// Changes whenever another key is given, so that what was refused is asked for again.
export function useSession() {
  const [seen, see] = useState(turn);
  useEffect(() => {
    listeners.add(see);
    return () => listeners.delete(see);
  }, []);
  return seen;
}

// Where the reader is. It stands behind the `#`: a question can be sent to a colleague, and no server logs its values.
import { useEffect, useState } from "preact/hooks";

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function readAddress(hash) {
  const [path, ...query] = hash.replace(/^#/, "").split("?");
  return { steps: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query.join("?")) };
}

export function linkTo(steps, query) {
  const path = `#/${steps.map(encodeURIComponent).join("/")}`;
  const text = query === undefined ? "" : String(new URLSearchParams(query));
  return text ? `${path}?${text}` : path;
}

export const go = (link) => {
  location.hash = link;
};

export function useAddress() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return readAddress(hash);
}

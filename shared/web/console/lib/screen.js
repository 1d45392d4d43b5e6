// What a drawing must know of the screen: how wide its place is, and whether it is dark.
import { useEffect, useState } from "preact/hooks";

export function useWidth(holder) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(() => holder.current && setWidth(holder.current.clientWidth));
    observer.observe(holder.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

export function useDark() {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return isDark;
}

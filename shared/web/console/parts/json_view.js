// A JSON document as text, with one path of it marked.
import { html } from "../lib/html.js";

const kindOf = (value) => (typeof value === "string" ? "text" : "plain");

function lines(value, depth, path, marked, isLast) {
  const space = "  ".repeat(depth),
    comma = isLast ? "" : ",";
  const isList = Array.isArray(value);
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0)
    return [html`<span class=${kindOf(value)}>${JSON.stringify(value)}</span>${comma}${"\n"}`];
  const names = Object.keys(value);
  const inside = names.map((name, place) => {
    const at = path ? `${path}.${name}` : name;
    const line = html`${space}  ${!isList && html`<span class="name">
      ${JSON.stringify(name)}</span>: `}${lines(value[name], depth + 1, at, marked, place === names.length - 1)}`;
    return at === marked ? html`<mark class="marked">${line}</mark>` : line;
  });
  return [isList ? "[" : "{", "\n", inside, space, isList ? "]" : "}", comma, "\n"];
}

export const JsonView = ({ value, marked = null, label }) => html`
  <pre class="codebox json" tabindex="0" role="region" aria-label=${label}>
    ${typeof value === "string" && marked === null ? value : lines(value, 0, "", marked, true)}</pre>`;

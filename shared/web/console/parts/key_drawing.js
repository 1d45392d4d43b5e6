// The key of an index, drawn: partition | sort.
import { html } from "../lib/html.js";

const descending = (part) =>
  part.order === "desc" ? (part.type === "datetime" ? "newest first" : "highest first") : "";

function Part({ part, kind }) {
  const about = [part.type === "string" ? "" : part.type, descending(part), part.fold ? "any case" : ""]
    .filter(Boolean)
    .join(", ");
  return html`<li class=${`part ${kind}`}><span class="hidden-text">${kind} part </span>
    ${part.name}${about && html` <small>${about}</small>`}</li>`;
}

export const KeyDrawing = ({ index }) => html`<ul class="key" aria-label=${`Key of ${index.name}`}>
  ${index.partition.map((part) => html`<${Part} part=${part} kind="partition" />`)}
  ${index.sort.map((part) => html`<${Part} part=${part} kind="sort" />`)}
</ul>`;

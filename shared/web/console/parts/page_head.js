// The heading of a page; it also names the page in the browser's title.
import { useEffect } from "preact/hooks";
import { html } from "../lib/html.js";

export function PageHead({ title, about, children }) {
  useEffect(() => {
    document.title = `${title} · Index Tables`;
  }, [title]);
  return html`<header class="heading">
    <div><h1 tabindex="-1" id="title">${title}</h1>${about && html`<p>${about}</p>`}</div>
    <div class="row">${children}</div>
  </header>`;
}

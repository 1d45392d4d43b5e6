// Text to take away.
import { useState } from "preact/hooks";
import { html } from "../lib/html.js";

export function Copy({ text, what }) {
  const [said, setSaid] = useState("");
  const copy = async () =>
    setSaid(
      await navigator.clipboard.writeText(text).then(
        () => "Copied",
        () => "Select the text, and copy it",
      ),
    );
  return html`<span class="row"><button type="button" onClick=${copy}>Copy ${what}</button><span role="status"
    class="small soft">${said}</span></span>`;
}

export const CodeBox = ({ text, what, label = what }) => html`<div class="stack">
  <pre class="codebox" tabindex="0" role="region" aria-label=${label}>${text}</pre>
  <div><${Copy} text=${text} what=${what} /></div></div>`;

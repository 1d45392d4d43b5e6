// The same lookup from a terminal or a program.
import { useState } from "preact/hooks";
import { html } from "../../lib/html.js";
import { SNIPPETS, snippet } from "../../lib/snippets.js";
import { CodeBox } from "../../parts/copy.js";

export function Elsewhere({ index, parameters }) {
  const [language, setLanguage] = useState(SNIPPETS[0]);
  return html`<section class="panel stack" aria-label="The same elsewhere">
    <div class="row spread"><h2>Ask it elsewhere</h2>
      <div class="choice" role="group" aria-label="Language">${SNIPPETS.map(
        (name) => html`
        <button type="button" aria-pressed=${name === language} onClick=${() => setLanguage(name)}>${name}</button>`,
      )}</div></div>
    <${CodeBox} key=${language} text=${snippet(language, index, parameters)} what=${language} />
  </section>`;
}

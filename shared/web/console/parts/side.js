// The places to go to, and the indexes.
import { linkTo } from "../lib/address.js";
import { html } from "../lib/html.js";
import { clock } from "../lib/words.js";
import { Icon, Mark } from "./icons.js";

const PLACES = [
  ["overview", "Overview", []],
  ["indexes", "Indexes", ["indexes"]],
  ["dead-letters", "Dead letters", ["dead-letters"]],
  ["operations", "Operations", ["operations"]],
  ["api", "API", ["api"]],
];

export function Side({ skip, steps, indexes, status, isPaused, setPaused }) {
  const waiting = status ? status.deadLetters.count : 0;
  const current = (isCurrent) => (isCurrent ? "page" : undefined);
  return html`<header class="side">
    <a class="skip" href="#title" onClick=${skip}>To the content</a>
    <a class="brand" href="#/"><${Mark} />Index Tables</a>
    <nav aria-label="Pages"><ul>${PLACES.map(
      ([icon, name, place]) => html`
      <li><a href=${linkTo(place)} aria-current=${current((steps[0] || "") === (place[0] || ""))}><${Icon}
        name=${icon} />${name}
        ${icon === "dead-letters" && waiting > 0 && html`<span class="bubble" aria-label=${`${waiting} wait`}>
          ${waiting}</span>`}</a></li>`,
    )}</ul></nav>
    ${
      indexes &&
      indexes.value.length > 0 &&
      html`<nav class="names" aria-label="Indexes"><h2>Look up</h2><ul>${indexes.value.map(
        (index) => html`
      <li><a href=${linkTo(["indexes", index.name])}
        aria-current=${current(steps[0] === "indexes" && steps[1] === index.name)}>${index.name}</a></li>`,
      )}</ul></nav>`
    }
    <div class="foot small soft">
      ${status && html`<p>As of ${clock(Date.parse(status.at) / 1000)}</p>`}
      <button type="button" class="quiet pause" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>
        ${isPaused ? "Resume updates" : "Pause updates"}</button>
    </div>
  </header>`;
}

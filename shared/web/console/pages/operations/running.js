// The progress of long work, and when it may be done.
import { html } from "../../lib/html.js";
import { duration, percent } from "../../lib/words.js";

export function Running({ label, progress: { share, left, waits } }) {
  const words =
    waits > 0
      ? `begins in ${duration(waits)}: by then every worker writes to the new generation`
      : `${percent(share)}${left === null ? "" : `, about ${duration(left)} left`}`;
  return html`<div class="stack running"><progress max="1" value=${share} aria-label=${label}></progress>
    <p class="small soft">${words}</p></div>`;
}

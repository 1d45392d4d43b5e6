// A limit for long work, so that it leaves room for others.
import { html } from "../../lib/html.js";

export const Budget = ({
  value,
  onInput,
  id,
}) => html`<label class="field budget"><span>At most this many transactions per second (optional)</span>
  <input name=${id} type="number" min="1" value=${value} placeholder="no limit"
    onInput=${(event) => onInput(event.target.value)} /></label>`;

export const withBudget = (members, budget) => (budget ? { ...members, budget: Number(budget) } : members);

// Names with their values.
import { html } from "../lib/html.js";

export const Facts = ({ facts }) =>
  html`<dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd>
    </div>`)}</dl>`;

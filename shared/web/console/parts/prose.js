// Words of the app, in which names stand in backticks: these become code, everything else stays text.
import { html } from "../lib/html.js";

export const Prose = ({ text }) =>
  (text || "").split(/`([^`]+)`/).map((piece, number) => (number % 2 ? html`<code>${piece}</code>` : piece));

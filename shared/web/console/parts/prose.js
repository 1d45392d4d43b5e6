// Words of the app: names stand in double quotes in messages, in backticks in the Markdown of the OpenAPI document.
// Both become code, everything else stays text: also quotes within a value that a message shows.
import { html } from "../lib/html.js";

const NAME = /(`[^`]+`|(?<![^\s(])"(?!\s)[^"]+(?<!\s)"(?![\w"]))/;

export const Prose = ({ text }) =>
  (text || "").split(NAME).map((piece, number) => (number % 2 ? html`<code>${piece.slice(1, -1)}</code>` : piece));

// Small drawings beside words; they say nothing that the words do not.
import { html } from "../lib/html.js";

const PATHS = {
  overview: "M3 12h4l2.5-7 5 14L17 12h4",
  indexes: "M4 5h6v14H4zM14 5h6M14 12h6M14 19h6",
  "dead-letters": "M4 6h16v12H4zM4 7l8 6 8-6M15 15l4 4M19 15l-4 4",
  operations: "M5 12a7 7 0 0 1 12-5l2 2M19 5v4h-4M19 12a7 7 0 0 1-12 5l-2-2M5 19v-4h4",
  api: "M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14",
};

export const Icon = ({ name }) => html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.7"
  stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;

export const Mark =
  () => html`<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#0b5cad" />
  <path d="M8 9h6v14H8z" fill="#fff" /><path d="M17 9h7v3h-7zm0 5.5h7v3h-7zM17 20h7v3h-7z" fill="#9fd0ff" /></svg>`;

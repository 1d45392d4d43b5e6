// A state in a word, with a color that repeats what the word says.
import { html } from "../lib/html.js";

const KINDS = {
  serving: "good",
  done: "good",
  closed: "good",
  ready: "good",
  building: "warn",
  running: "warn",
  "half-open": "warn",
  standby: "calm",
  retired: "calm",
  unknown: "calm",
  open: "bad",
  failed: "bad",
};

export const Pill = ({ text, kind = KINDS[text] || "calm" }) => html`<span class=${`pill ${kind}`}>${text}</span>`;

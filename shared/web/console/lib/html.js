// Markup in templates: values become text and attributes, never markup.
import htm from "htm";
import { h } from "preact";

export const html = htm.bind(h);

// A table that is a list of blocks on a phone: hence a role and a label at every cell.
import { html } from "../lib/html.js";

// Columns are `{ name, isNumber, isWide, isValue, cell(row) }`; the first cell heads its row.
export function Table({ label, columns, rows, keyOf, onOpen }) {
  const kind = (column) =>
    [column.isNumber && "number", column.isWide && "wide", column.isValue && "value"].filter(Boolean).join(" ");
  return html`<div class="tablebox" tabindex="0" role="region" aria-label=${label}>
    <table role="table" aria-label=${label}>
      <thead role="rowgroup"><tr role="row">${columns.map(
        (column) => html`
        <th role="columnheader" scope="col" class=${kind(column)}>${column.name || html`<span class="hidden-text">
          ${column.label}</span>`}</th>`,
      )}</tr></thead>
      <tbody role="rowgroup">${rows.map(
        (row, place) => html`
        <tr role="row" key=${keyOf(row)} data-row=${keyOf(row)} class=${onOpen ? "opens" : ""}
          onClick=${onOpen && ((event) => isPlain(event) && onOpen(row, place))}>
          ${columns.map((column, number) => cell(column, number, row, place, kind(column)))}</tr>`,
      )}</tbody>
    </table></div>`;
}

function cell(column, number, row, place, kind) {
  const content = column.cell(row, place);
  return number
    ? html`<td role="cell" class=${kind} data-label=${column.name}>${content}</td>`
    : html`<th role="rowheader" scope="row" class=${kind}>${content}</th>`;
}

// A press on a row opens it, but not one on a button in it, nor the end of a selection of text.
const isPlain = (event) => !event.target.closest("button, a, input") && String(getSelection()) === "";

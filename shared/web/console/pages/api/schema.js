// What a good answer looks like, member by member, and which problems there may be.
import { html } from "../../lib/html.js";
import { answerSchema, schemaLines } from "../../lib/openapi.js";
import { Prose } from "../../parts/prose.js";

export function Schema({ operation, document }) {
  const lines = schemaLines(answerSchema(operation), document);
  const problems = Object.entries(operation.responses).filter(([status]) => !status.startsWith("2"));
  return html`<details><summary>What it answers</summary><div class="stack after">
    <ul class="schema">${lines.map(
      (
        line,
      ) => html`<li style=${{ paddingLeft: `${line.depth * 1.1}rem` }}><code>${line.name}</code> <code class="soft">
        ${line.type}</code>
      ${!line.isRequired && html` <small>may be absent</small>`}${line.about && html` <small>
        <${Prose} text=${line.about} /></small>`}</li>`,
    )}</ul>
    <ul class="schema">${problems.map(([status, one]) => html`<li><span class="pill calm">${status}</span> <small>
      <${Prose} text=${one.description} /></small></li>`)}</ul></div></details>`;
}

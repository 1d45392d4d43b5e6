// One call: its parameters to fill in, as curl, its answer, and what an answer looks like.
import { useState } from "preact/hooks";
import { linkTo } from "../../lib/address.js";
import { ask, queryOf } from "../../lib/calls.js";
import { html } from "../../lib/html.js";
import { useAction } from "../../lib/load.js";
import { needsAdmin } from "../../lib/openapi.js";
import { CodeBox } from "../../parts/copy.js";
import { Answer } from "./answer.js";
import { curlOf, pathOf } from "./request.js";
import { Parameter } from "./parameter.js";
import { Schema } from "./schema.js";

export function Call({ call, document }) {
  const { operation, method, path } = call;
  const parameters = (operation.parameters || []).filter((parameter) => parameter.in !== "header");
  const content = operation.requestBody && operation.requestBody.content["application/json"];
  const [values, setValues] = useState({});
  const [body, setBody] = useState("");
  const sending = useAction();
  const send = (address) =>
    sending.run(async () => {
      const answer = await ask(method, address, content && body ? body : undefined);
      return { status: answer.status, type: answer.headers.get("content-type") || "", text: await answer.text() };
    });
  const submit = (event) => {
    event.preventDefault();
    send(pathOf(path, parameters, values));
  };
  const follow = (link) =>
    send(
      `${pathOf(
        path,
        parameters.filter((one) => one.in === "path"),
        values,
      )}?${queryOf(link)}`,
    );
  return html`<form class="stack try" onSubmit=${submit}>
    ${path.endsWith("/entries") && html`<p class="soft small">There is <a href=${linkTo(["indexes", call.group])}>a form</a> for this question, too.</p>`}
    ${needsAdmin(operation) && html`<p class="soft small">For operators: it needs the admin key.</p>`}
    ${parameters.map(
      (
        parameter,
      ) => html`<${Parameter} key=${parameter.name} parameter=${parameter} value=${values[parameter.name] || ""}
      onInput=${(text) => setValues({ ...values, [parameter.name]: text })} />`,
    )}
    ${
      content &&
      html`<label class="field">
        <span>Body: JSON with any of ${Object.keys(content.schema.properties || {}).join(", ") || "nothing"}</span>
      <textarea rows="3" value=${body} placeholder="{}" onInput=${(event) => setBody(event.target.value)}
        spellcheck=${false}></textarea></label>`
    }
    <div><button type="submit" class="main" disabled=${sending.isRunning}>
      ${sending.isRunning ? "Sending…" : "Send"}</button></div>
    <${CodeBox} text=${curlOf(call, parameters, values, content ? body : "")} what="curl" />
    ${(sending.value || sending.problem) && html`<${Answer} answer=${sending.value} problem=${sending.problem}
      onFollow=${follow} />`}
    <${Schema} operation=${operation} document=${document} />
  </form>`;
}

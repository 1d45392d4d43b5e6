// The HTTP API: every call in its group, your own indexes first, to be searched and tried.
import { useEffect, useRef, useState } from "preact/hooks";
import { go, linkTo } from "../lib/address.js";
import { get } from "../lib/calls.js";
import { html } from "../lib/html.js";
import { useLoad } from "../lib/load.js";
import { callsOf, grouped, matching } from "../lib/openapi.js";
import { plural } from "../lib/words.js";
import { PageHead } from "../parts/page_head.js";
import { Empty, Loaded } from "../parts/states.js";
import { Call } from "./api/call.js";

export function ApiPage({ address }) {
  const document = useLoad(() => get("openapi.json"), []);
  const opened = address.steps[1];
  return html`<${PageHead} title="API" about="Every call that this app answers, made from its definitions." />
    <${Loaded} of=${document} what="the API">${(value) => html`<${Calls} document=${value} opened=${opened}
      query=${address.query.get("q") || ""} />`}<//>`;
}

function Calls({ document, opened, query }) {
  const [text, setText] = useState(query);
  const calls = matching(callsOf(document), text);
  return html`<label class="field search"><span>Search calls</span>
      <input type="search" value=${text} placeholder="town, replay, switch…"
        onInput=${(event) => setText(event.target.value)} /></label>
    <p class="hidden-text" role="status">${plural(calls.length, "call")}</p>
    ${calls.length === 0 && html`<${Empty} title="No call matches" />`}
    ${[...grouped(calls)].map(
      ([group, all]) => html`<section class="stack" key=${group}><h2>${group}</h2>
      <ul class="panel calls">${all.map((call) => html`<li key=${call.id}><${Entry} call=${call} document=${document}
        isOpen=${call.id === opened} /></li>`)}</ul></section>`,
    )}`;
}

function Entry({ call, document, isOpen }) {
  const element = useRef(null);
  useEffect(() => {
    if (isOpen) element.current.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  const toggle = () => go(isOpen ? linkTo(["api"]) : linkTo(["api", call.id]));
  return html`<div ref=${element} class="call" data-call=${call.id}>
    <button type="button" class="link head" aria-expanded=${isOpen} onClick=${toggle}>
      <span class=${`pill ${call.method === "GET" ? "calm" : "warn"}`}>${call.method}</span> <code>
        ${call.path}</code> <span class="soft">${call.summary}</span></button>
    ${isOpen && html`<${Call} call=${call} document=${document} />`}</div>`;
}

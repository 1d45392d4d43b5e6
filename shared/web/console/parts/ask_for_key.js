// Asks for the key or token that a call needs.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../lib/html.js";
import { give, hasSecret } from "../lib/session.js";
import { PageHead } from "./page_head.js";

const WORDS = {
  function: ["A function key is needed", "A function key, or the admin key, opens what this page shows."],
  admin: ["The admin key is needed", "This page is for operators: it needs the admin key (in Azure the key _master)."],
  token: ["A token is needed", "This app knows its callers by Microsoft Entra ID: paste an access token for it."],
};

// `isWhole`: there is nothing else on the page.
export function AskForKey({ problem, needs, isWhole }) {
  const [text, setText] = useState("");
  const input = useRef(null);
  // At once, and not after the next frame: what is typed until then would be lost.
  useLayoutEffect(() => input.current.focus(), []);
  const isToken = problem.wantsToken;
  const [title, about] = WORDS[isToken ? "token" : needs];
  const refused = hasSecret() ? `What you gave is not accepted${needs === "admin" ? " here" : ""}.` : "";
  const send = (event) => {
    event.preventDefault();
    give(text, isToken);
  };
  return html`<form class="panel stack ask" onSubmit=${send}>
    ${isWhole ? html`<${PageHead} title=${title} />` : html`<h2>${title}</h2>`}
    <p class="soft">${about} It stays in this page's memory, and is gone when you close it.</p>
    <div class="row">
      <label class="field grow"><span>${isToken ? "Token" : "Key"}</span>
        <input ref=${input} type="password" autocomplete="off" required value=${text}
          onInput=${(event) => setText(event.target.value)} /></label>
      <button class="main" type="submit">Continue</button>
    </div>
    <p role="alert" class="refused">${refused}</p>
  </form>`;
}

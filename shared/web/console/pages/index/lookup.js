// The lookup: a question, how it runs, its answer, and how to ask it elsewhere. The address has the question.
import { useMemo } from "preact/hooks";
import { go, linkTo } from "../../lib/address.js";
import { html } from "../../lib/html.js";
import { parametersOf } from "../../lib/parameters.js";
import { isComplete, readQuestion } from "../../lib/question.js";
import { Elsewhere } from "./elsewhere.js";
import { Explanation } from "./explanation.js";
import { LookupForm } from "./lookup_form.js";
import { Results } from "./results.js";

export function Lookup({ index, query, known }) {
  const text = String(query);
  const asked = useMemo(() => readQuestion(index, new URLSearchParams(text)), [index, text]);
  const ask = (question) => go(linkTo(["indexes", index.name], parametersOf(index, question)));
  // A link that somebody wrote may ask what this index cannot answer: then the app says what could.
  const isWhole = isComplete(index, asked),
    parameters = isWhole ? parametersOf(index, asked) : [...new URLSearchParams(text)];
  return html`<${LookupForm} key=${text} index=${index} asked=${asked} known=${known} onAsk=${ask} />
    ${text && html`<${Results} key=${`results ${text}`} index=${index} parameters=${parameters} />`}
    ${
      isWhole &&
      html`<${Explanation} index=${index} parameters=${parameters} />
      <${Elsewhere} index=${index} parameters=${parameters} />`
    }`;
}

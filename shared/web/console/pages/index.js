// One index: look it up, or read about it.
import { linkTo } from "../lib/address.js";
import { get } from "../lib/calls.js";
import { html } from "../lib/html.js";
import { useLoad } from "../lib/load.js";
import { KeyDrawing } from "../parts/key_drawing.js";
import { PageHead } from "../parts/page_head.js";
import { Pill } from "../parts/pill.js";
import { Empty, Loaded } from "../parts/states.js";
import { AboutIndex } from "./index/about.js";
import { Lookup } from "./index/lookup.js";

export function IndexPage({ address, indexes, status }) {
  const [, name, tab] = address.steps;
  const advice = useLoad(() => get("advice"), []);
  const state = indexes.value && indexes.value.value.find((one) => one.name === name)?.state;
  return html`<${PageHead} title=${name}>${state && html`<${Pill} text=${state} />`}<//><${Loaded} of=${indexes}
    what="the index">${({
    value,
  }) => {
    const index = value.find((one) => one.name === name);
    if (!index) return html`<${Empty} title="There is no such index"><p><a href="#/indexes">All indexes</a></p><//>`;
    const known = advice.value && advice.value.indexes.find((one) => one.name === name);
    return html`<${KeyDrawing} index=${index} />
      <nav class="tabs" aria-label="About this index">
        <a href=${linkTo(["indexes", name])} aria-current=${tab ? undefined : "page"}>Look up</a>
        <a href=${linkTo(["indexes", name, "about"])} aria-current=${tab === "about" ? "page" : undefined}>About</a>
        <a href=${linkTo(["operations", name])}>Operations</a>
      </nav>
      ${tab === "about" ? html`<${AboutIndex} index=${index} status=${status} advice=${advice} />` : html`<${Lookup}
        index=${index} query=${address.query} known=${known} />`}`;
  }}<//>`;
}

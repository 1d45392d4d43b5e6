// Changes that could not be applied: which, why, what arrived; and their replay.
import { useState } from "preact/hooks";
import { go, linkTo } from "../lib/address.js";
import { get, queryOf, withQuery } from "../lib/calls.js";
import { html } from "../lib/html.js";
import { useLoad } from "../lib/load.js";
import { momentOf, plural } from "../lib/words.js";
import { PageHead } from "../parts/page_head.js";
import { Prose } from "../parts/prose.js";
import { Empty, Loaded } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { Filters, FILTERS } from "./dead_letters/filters.js";
import { Letter } from "./dead_letters/letter.js";
import { Purge } from "./dead_letters/purge.js";
import { ReplayAll } from "./dead_letters/replay_all.js";

export function DeadLettersPage({ address, indexes, status }) {
  const chosen = FILTERS.map((name) => [name, address.query.get(name) || ""]).filter(([, value]) => value);
  const query = String(new URLSearchParams(chosen));
  const [from, setFrom] = useState("");
  const letters = useLoad(() => get(withQuery("dead-letters", from || query)), [query, from]);
  const [opened, setOpened] = useState(null);
  const filter = (values) => {
    setFrom("");
    go(linkTo(["dead-letters"], values));
  };
  const changed = () => {
    setFrom("");
    letters.reload();
    status.reload();
  };
  return html`<${PageHead} title="Dead letters"
    about="Changes that could not be read, or do not fit an index. Correct the fact or the definition, then replay them." />
    <${Loaded} of=${letters} needs="admin" what="dead letters">${(page) => html`
      <${Filters} key=${query} chosen=${Object.fromEntries(chosen)} indexes=${indexes.value} onFilter=${filter} />
      ${
        page.value.length === 0
          ? html`<${None} isFiltered=${chosen.length > 0} />`
          : html`
        <div class="row"><${ReplayAll} query=${query} isFiltered=${chosen.length > 0} onDone=${changed} /><${Purge}
          query=${query} chosen=${chosen} onDone=${changed} /></div>
        <${Table} label="Dead letters" columns=${columns(setOpened)} rows=${page.value} keyOf=${(one) => one.id}
          onOpen=${setOpened} />
        <div class="row spread"><p class="soft" role="status">
          ${plural(page.value.length, "dead letter")}${page.nextLink ? ", and more" : ""}</p>
          <div class="row">${from && html`<button type="button" onClick=${() => setFrom("")}>First page</button>`}
            ${page.nextLink && html`<button type="button"
              onClick=${() => setFrom(queryOf(page.nextLink))}>Next page</button>`}</div></div>`
      }
      ${opened && html`<${Letter} letter=${opened} onClose=${() => setOpened(null)} onReplayed=${changed} />`}`}<//>`;
}

const None = ({ isFiltered }) =>
  isFiltered
    ? html`<${Empty} title="No dead letter matches"><p><a href="#/dead-letters">Show all</a></p><//>`
    : html`<${Empty} title="No dead letter waits"><p>Every change that arrived is in its indexes, or on its way.</p>
      <//>`;

const columns = (open) => [
  { name: "Fact", cell: (one) => (one.fact ? one.fact.id : "unreadable") },
  { name: "Index", cell: (one) => html`${one.index || "–"}<small>${one.source}</small>` },
  { name: "Kind", cell: (one) => html`<span class="pill warn">${one.kind}</span>` },
  { name: "Reason", isWide: true, cell: (one) => html`<span class="clipped"><${Prose}
      text=${one.reason} /></span>` },
  { name: "Failed", cell: (one) => momentOf(one.failedAt) },
  {
    name: "",
    label: "Open",
    cell: (one) =>
      html`<button type="button" class="link"
        aria-label=${`Open the dead letter of ${one.fact ? one.fact.id : one.source}`}
        onClick=${() => open(one)}>Open</button>`,
  },
];

// The operations of one index: to its definition step by step, back again, is it right, is it spread well.
import { linkTo } from "../../lib/address.js";
import { encoded, get } from "../../lib/calls.js";
import { factsOf } from "../../lib/costs.js";
import { html } from "../../lib/html.js";
import { useAction, useLoad } from "../../lib/load.js";
import { standing } from "../../lib/standing.js";
import { Facts } from "../../parts/facts.js";
import { Loaded, Trouble } from "../../parts/states.js";
import { momentOf } from "../../lib/words.js";
import { Build } from "./build.js";
import { Rebalance } from "./rebalance.js";
import { Rollback } from "./rollback.js";
import { Switch } from "./switch.js";
import { Verify } from "./verify.js";

const EVERY_SECONDS = 2;

export function IndexOperations({ index, indexes, status }) {
  const path = `indexes/${encoded(index.name)}`;
  const state = useLoad(
    () => Promise.all([get(`${path}/builds`), get(`${path}/verifications`)]),
    [index.name],
    EVERY_SECONDS,
  );
  const advice = useLoad(() => get("advice"), []);
  const action = useAction();
  const run = async (work) => {
    await action.run(work);
    state.reload();
  };
  return html`<nav class="tabs" aria-label="About this index">
      <a href=${linkTo(["indexes", index.name])}>Look up</a>
        <a href=${linkTo(["indexes", index.name, "about"])}>About</a>
      <a href=${linkTo(["operations", index.name])} aria-current="page">Operations</a></nav>
    <${Loaded} of=${state} needs="admin" what="how the index stands">${([builds, verifications]) => {
      const known = advice.value && advice.value.indexes.find((one) => one.name === index.name);
      const shared = {
        index,
        path,
        state: builds,
        run,
        isBusy: action.isRunning,
        price: status.value ? status.value.prices : null,
        facts: advice.value ? factsOf(index.source, indexes, advice.value) : null,
        entries: known ? known.statistics.entries : 0,
      };
      const { kind, text, step } = standing(builds);
      return html`<p class=${`pill headline ${kind}`} id="standing" role="status">${text}</p>
        ${action.problem && html`<${Trouble} problem=${action.problem} needs="admin" />`}
        <div class="panel standing"><${Facts} facts=${generations(builds)} /></div>
        ${
          step &&
          html`<ol class="steps"><li><${Build} ...${shared} isNow=${step === "build"} /></li>
          <li><${Verify} ...${shared} verifications=${verifications.value} isNow=${step === "verify"}
            title="2. Verify" /></li>
          <li><${Switch} ...${shared} isNow=${step === "switch"} /></li></ol>`
        }
        ${!step && html`<${Verify} ...${shared}
          verifications=${verifications.value} isNow title="Verify and repair" />`}
        <${Rollback} ...${shared} generations=${generationsOf(status.value, index)} />
        <${Rebalance} ...${shared} advice=${known ? known.advice : []} isChanging=${step !== null} />`;
    }}<//>`;
}

const generationsOf = (status, index) =>
  ((status && status.indexes.find((one) => one.name === index.name)) || { generations: [] }).generations;

function generations({ serving, defined }) {
  const described = (one) =>
    one
      ? html`<code>${one.id}</code> ${one.readOnlySince ? "read-only " : ""}since ${momentOf(one.enteredAt)}`
      : "none";
  return [
    ["Serving", described(serving)],
    ["Defined", described(defined)],
    ...(defined && defined.unbuilt ? [["Not found again by the build", defined.unbuilt]] : []),
  ];
}

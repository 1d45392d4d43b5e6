// The console: a frame, and in it the page that the address names.
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useAddress } from "./lib/address.js";
import { get } from "./lib/calls.js";
import { html } from "./lib/html.js";
import { useLoad } from "./lib/load.js";
import { ApiPage } from "./pages/api.js";
import { DeadLettersPage } from "./pages/dead_letters.js";
import { IndexPage } from "./pages/index.js";
import { IndexesPage } from "./pages/indexes.js";
import { NoSuchPage } from "./pages/no_such_page.js";
import { OperationsPage } from "./pages/operations.js";
import { OverviewPage } from "./pages/overview.js";
import { Side } from "./parts/side.js";
import { Trouble } from "./parts/states.js";

const STATUS_SECONDS = 5;
const PAGES = { "dead-letters": DeadLettersPage, operations: OperationsPage, api: ApiPage };

function pageOf(steps) {
  if (steps.length === 0) return OverviewPage;
  if (steps[0] === "indexes") return steps.length > 1 ? IndexPage : IndexesPage;
  return PAGES[steps[0]] || NoSuchPage;
}

function App() {
  const address = useAddress();
  const [isPaused, setPaused] = useState(false);
  const status = useLoad(() => get("status"), [], isPaused ? 0 : STATUS_SECONDS);
  const indexes = useLoad(() => get("indexes"), []);
  // To open a call is not to go to another page.
  const place = address.steps.slice(0, address.steps[0] === "api" ? 1 : undefined).join("/");
  useReading(place);
  const Page = pageOf(address.steps);
  const stop = [status.problem, indexes.problem].find(
    (problem) => problem && (problem.status === 401 || problem.code === "DefinitionsBroken"),
  );
  return html`<div class="shell">
      <${Side} skip=${skip} steps=${address.steps} indexes=${indexes.value} status=${status.value}
        isPaused=${isPaused} setPaused=${setPaused} />
      <main id="content" data-at=${status.value && status.value.at}>
        ${stop ? html`<${Trouble} problem=${stop} isWhole />` : html`<${Page} key=${place} address=${address}
          status=${status} indexes=${indexes} isPaused=${isPaused} />`}
      </main>
    </div>`;
}

// A reader who goes to another page, with a screen reader or keys, begins at its heading: before anything can be typed.
function useReading(place) {
  const before = useRef(place);
  useLayoutEffect(() => {
    if (before.current === place) return;
    before.current = place;
    scrollTo(0, 0);
    focusTitle();
  }, [place]);
}

function focusTitle() {
  const title = document.getElementById("title");
  if (title) title.focus({ preventScroll: true });
}

// The part of the address behind the `#` is the page's own.
function skip(event) {
  event.preventDefault();
  focusTitle();
}

render(html`<${App} />`, document.getElementById("app"));

// An address that leads nowhere.
import { html } from "../lib/html.js";
import { Empty } from "../parts/states.js";
import { PageHead } from "../parts/page_head.js";

export const NoSuchPage = () => html`<${PageHead} title="There is no such page" />
  <${Empty} title="Nothing is here"><p><a href="#/">Go to the overview</a></p><//>`;

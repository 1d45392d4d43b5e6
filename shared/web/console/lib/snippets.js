// The same lookup outside of the console. The key or token stands as the name of a variable, never as itself.
import { API } from "./calls.js";
import { hasToken } from "./session.js";

const LANGUAGES = { curl, Python: python, TypeScript: typescript, CLI: cli };
export const SNIPPETS = Object.keys(LANGUAGES);
export const snippet = (language, index, parameters) => LANGUAGES[language](index, parameters);

const app = () => API.href.replace(/\/api\/$/, "");
export const curlSecret = () =>
  hasToken() ? '-H "Authorization: Bearer $INDEX_TABLES_TOKEN"' : '-H "x-functions-key: $INDEX_TABLES_KEY"';
// What the clients call it, and its variable. The command line reads the same variables.
const secret = () => (hasToken() ? ["credential", "INDEX_TABLES_TOKEN"] : ["key", "INDEX_TABLES_KEY"]);
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const isName = (text) => /^[A-Za-z_]\w*$/.test(text);

function curl(index, parameters) {
  const lines = parameters.map(([name, value]) => `  --data-urlencode ${quoted(`${name}=${value}`)}`);
  return [
    `curl -G ${quoted(`${API.href}indexes/${encodeURIComponent(index.name)}/entries`)}`,
    `  ${curlSecret()}`,
    ...lines,
  ].join(" \\\n");
}

const OPTIONS = { select: ["select", "select"], filter: ["filter", "filter"], maxpagesize: ["page_size", "pageSize"] };

// Conditions and options as a program writes them: `[name, value, isOption]`. A list asks for any of its values, null for what is missing.
function written(index, parameters, language) {
  const place = language === "python" ? 0 : 1,
    nothing = place ? "null" : "None";
  return parameters.map(([name, text]) => {
    if (name in OPTIONS) return [OPTIONS[name][place], name === "maxpagesize" ? text : JSON.stringify(text), true];
    const [, part, operator] = /^(.*?)(?:\.(in|null|ge|gt|le|lt|prefix))?$/.exec(name);
    if (operator === "in") return [part, text, false];
    if (operator === "null") return [part, nothing, false];
    return [operator ? (place ? name : `${part}__${operator}`) : part, typed(index, part, text, place), false];
  });
}

function typed(index, name, text, place) {
  const { type } = [...index.partition, ...index.sort].find((one) => one.name === name) || {};
  if (type === "boolean") return place ? text : text === "true" ? "True" : "False";
  return ["integer", "number"].includes(type) && text.trim() && Number.isFinite(Number(text))
    ? text
    : JSON.stringify(text);
}

function python(index, parameters) {
  const given = written(index, parameters, "python"),
    named = given.filter(([name]) => isName(name));
  const others = given.filter(([name]) => !isName(name)).map(([name, value]) => `${JSON.stringify(name)}: ${value}`);
  const all = [
    ...(others.length ? [`{${others.join(", ")}}`] : []),
    ...named.map(([name, value]) => `${name}=${value}`),
  ].join(", ");
  const [option, variable] = secret();
  return `import os

from index_tables import IndexTables

with IndexTables(${JSON.stringify(app())}, ${option}=os.environ["${variable}"]) as app:
    for entry in app.index(${JSON.stringify(index.name)}).find(${all}):
        print(entry)`;
}

function typescript(index, parameters) {
  const given = written(index, parameters, "typescript");
  const object = (all) =>
    `{ ${all.map(([name, value]) => `${isName(name) ? name : JSON.stringify(name)}: ${value}`).join(", ")} }`;
  const options = given.filter(([, , isOption]) => isOption);
  const all = [object(given.filter(([, , isOption]) => !isOption)), ...(options.length ? [object(options)] : [])].join(
    ", ",
  );
  const [option, variable] = secret();
  return `import { IndexTables } from "index-tables";

const app = new IndexTables(${JSON.stringify(app())}, { ${option}: process.env.${variable} });
for await (const entry of app.index(${JSON.stringify(index.name)}).find(${all})) {
  console.log(entry);
}`;
}

function cli(index, parameters) {
  return [
    "index-tables query",
    index.name,
    ...parameters.map(([name, value]) => word(`${name}=${value}`)),
    `--url ${app()}`,
  ].join(" ");
}

const word = (text) => (/^[\w.=@:/-]+$/.test(text) ? text : quoted(text));

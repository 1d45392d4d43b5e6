// The same lookup outside of the console. The key or token stands as the name of a variable, never as itself.
import { API } from "./calls.js";
import { hasSecret, hasToken } from "./session.js";

const LANGUAGES = { curl, Python: python, TypeScript: typescript, CLI: cli };
export const SNIPPETS = Object.keys(LANGUAGES);
export const snippet = (language, index, parameters) => LANGUAGES[language](index, parameters);

const app = () => API.href.replace(/\/api\/$/, "");
// An app that asked the reader for nothing asks no program for it: such as a local run.
export function curlSecret() {
  if (!hasSecret()) return [];
  return [hasToken() ? '-H "Authorization: Bearer $INDEX_TABLES_TOKEN"' : '-H "x-functions-key: $INDEX_TABLES_KEY"'];
}
// What the clients call it, and its variable. The command line reads the same variables.
const secret = (write) =>
  !hasSecret() ? "" : hasToken() ? write("credential", "INDEX_TABLES_TOKEN") : write("key", "INDEX_TABLES_KEY");
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const isName = (text) => /^[A-Za-z_]\w*$/.test(text);
// As both languages write it; the app reads others, such as 007, from a text as well.
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;
// What no argument of a call can be called.
const PYTHON_KEYWORDS = new Set(
  `False None True and as assert async await break class continue def del elif else except finally for from global if
  import in is lambda nonlocal not or pass raise return try while with yield`.split(/\s+/),
);

function curl(index, parameters) {
  const lines = parameters.map(([name, value]) => `  --data-urlencode ${quoted(`${name}=${value}`)}`);
  return [
    `curl -G ${quoted(`${API.href}indexes/${encodeURIComponent(index.name)}/entries`)}`,
    ...curlSecret().map((line) => `  ${line}`),
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
  return ["integer", "number"].includes(type) && NUMBER.test(text) ? text : JSON.stringify(text);
}

function python(index, parameters) {
  const isArgument = ([name]) => isName(name) && !PYTHON_KEYWORDS.has(name);
  const given = written(index, parameters, "python"),
    named = given.filter(isArgument);
  const others = given.filter((one) => !isArgument(one)).map(([name, value]) => `${JSON.stringify(name)}: ${value}`);
  const all = [
    ...(others.length ? [`{${others.join(", ")}}`] : []),
    ...named.map(([name, value]) => `${name}=${value}`),
  ].join(", ");
  const shown = secret((option, variable) => `, ${option}=os.environ["${variable}"]`);
  return `${shown && "import os\n\n"}from index_tables import IndexTables

with IndexTables(${JSON.stringify(app())}${shown}) as app:
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
  const shown = secret((option, variable) => `, { ${option}: process.env.${variable} }`);
  return `import { IndexTables } from "index-tables";

const app = new IndexTables(${JSON.stringify(app())}${shown});
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

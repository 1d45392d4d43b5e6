// The definition of an index as it stands in indexes.yaml, made from what the app says of it.
const PLAIN = /^[A-Za-z_][\w.-]*( [\w.-]+)*$/;
const WORDS = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n"]);

function scalar(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return PLAIN.test(value) && !WORDS.has(value.toLowerCase()) ? value : JSON.stringify(value);
}

function flow(value) {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (value !== null && typeof value === "object")
    return `{${Object.entries(value)
      .map(([name, one]) => `${scalar(name)}: ${flow(one)}`)
      .join(", ")}}`;
  return scalar(value);
}

function written(part) {
  const said = { path: part.path };
  if (part.name !== part.path) said.name = part.name;
  if (part.type !== "string") said.type = part.type;
  if (part.order !== "asc") said.order = part.order;
  if (part.fold) said.fold = part.fold;
  if (part.nulls === "index") said.nulls = "index";
  return Object.keys(said).length === 1 ? part.path : said;
}

const parts = (all) => (all.length === 1 ? written(all[0]) : all.map(written));

export function definitionYaml(index) {
  const { each, where, shards, hot, expire, placement, summarize } = index;
  const members = {
    source: index.source,
    each,
    where,
    partition: parts(index.partition),
    sort: index.sort.length ? parts(index.sort) : undefined,
    project: summarize ? undefined : index.project,
    summarize,
    shards: shards > 1 ? shards : undefined,
    hot,
    expire,
    placement,
  };
  const lines = Object.entries(members)
    .filter(([, value]) => value !== undefined)
    .flatMap(([name, value]) => (name === "summarize" ? block(name, value) : [`    ${name}: ${flow(value)}`]));
  return ["indexes:", `  ${scalar(index.name)}:`, ...lines].join("\n");
}

const block = (name, value) => [
  `    ${name}:`,
  ...Object.entries(value).map(([one, what]) => `      ${scalar(one)}: ${flow(what)}`),
];

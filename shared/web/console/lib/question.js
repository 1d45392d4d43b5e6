// A question to an index: a condition for each key part, in the order of the key, and options. It is what the address
// holds, what the form edits, and what the app is asked.

const LABELS = {
  eq: "is",
  in: "is one of",
  null: "is missing or null",
  ge: "is at least",
  gt: "is more than",
  le: "is at most",
  lt: "is less than",
  between: "is between",
  prefix: "begins with",
};
export const labelOf = (operator) => LABELS[operator];
export const OPTIONS = ["filter", "select", "maxpagesize"];
const EQUALITIES = new Set(["eq", "in", "null"]);

export const partsOf = (index) => [...index.partition, ...index.sort];

export function operatorsOf(index, part) {
  const some = part.type === "boolean" ? ["eq"] : ["eq", "in"];
  const nulls = part.nulls === "index" ? ["null"] : [];
  const ranges = part.type === "boolean" ? [] : ["ge", "gt", "le", "lt", "between"];
  const prefix = part.type === "string" ? ["prefix"] : [];
  return index.partition.includes(part) ? [...some, ...nulls] : [...some, ...prefix, ...ranges, ...nulls];
}

const NONE = { operator: "eq", values: ["", ""] };

export function readQuestion(index, query) {
  const conditions = Object.fromEntries(partsOf(index).map((part) => [part.name, readCondition(part, query)]));
  const options = Object.fromEntries(OPTIONS.map((name) => [name, query.get(name) || ""]));
  return { conditions, options };
}

function readCondition(part, query) {
  const value = (operator) => query.get(operator ? `${part.name}.${operator}` : part.name);
  if (value("") !== null) return { operator: "eq", values: [value(""), ""], isGiven: true };
  if (value("ge") !== null && value("le") !== null)
    return { operator: "between", values: [value("ge"), value("le")], isGiven: true };
  const operator = Object.keys(LABELS).find((name) => value(name) !== null);
  if (!operator) return NONE;
  return {
    operator,
    values: [operator === "in" ? listText(value("in")) : operator === "null" ? "" : value(operator), ""],
    isGiven: true,
  };
}

// A condition counts as soon as it has its values. An empty text is no value in a form: there it means "not given".
export function isGiven({ operator, values }) {
  if (operator === "null") return true;
  return operator === "between" ? values[0] !== "" && values[1] !== "" : values[0] !== "";
}

// Which parts can be given now: those before which everything has a value, and no range stands.
export function openParts(index, question) {
  const open = new Set();
  for (const part of partsOf(index)) {
    open.add(part.name);
    const condition = question.conditions[part.name];
    if (!isGiven(condition) || !EQUALITIES.has(condition.operator)) break;
  }
  return open;
}

export const isComplete = (index, question) => index.partition.every((part) => isGiven(question.conditions[part.name]));

function listText(json) {
  try {
    const values = JSON.parse(json);
    return Array.isArray(values) && values.every((value) => !String(value).includes(",")) ? values.join(", ") : json;
  } catch {
    return json;
  }
}

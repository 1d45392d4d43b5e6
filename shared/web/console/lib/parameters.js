// What the app is asked: the parameters of a question.
import { isGiven, openParts, OPTIONS, partsOf } from "./question.js";

// The parameters of the lookup. Parts that cannot be given are left out, whatever was typed before.
export function parametersOf(index, question) {
  const open = openParts(index, question);
  const found = partsOf(index)
    .filter((part) => open.has(part.name) && isGiven(question.conditions[part.name]))
    .flatMap((part) => conditionParameters(part, question.conditions[part.name]));
  const options = OPTIONS.filter((name) => question.options[name]).map((name) => [name, question.options[name]]);
  return [...found, ...options];
}

function conditionParameters(part, { operator, values }) {
  const name = part.name;
  if (operator === "eq") return [[name, values[0]]];
  if (operator === "null") return [[`${name}.null`, "true"]];
  if (operator === "in") return [[`${name}.in`, listOf(part, values[0])]];
  if (operator === "between")
    return [
      [`${name}.ge`, values[0]],
      [`${name}.le`, values[1]],
    ];
  return [[`${name}.${operator}`, values[0]]];
}

// Values with commas between them as the JSON array that the app takes; such an array is taken as it is.
function listOf(part, text) {
  if (text.trim().startsWith("[")) return text.trim();
  const isNumber = part.type === "integer" || part.type === "number";
  const values = text
    .split(",")
    .map((value) => value.trim())
    .filter(Boolean);
  return JSON.stringify(values.map((value) => (isNumber && Number.isFinite(Number(value)) ? Number(value) : value)));
}

// A lookup of one entry alone, by its whole key.
export const keyParameters = (index, key) =>
  partsOf(index).map((part) =>
    key[part.name] === null || key[part.name] === undefined
      ? [`${part.name}.null`, "true"]
      : [part.name, String(key[part.name])],
  );

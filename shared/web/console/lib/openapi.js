// The OpenAPI document, as a page can show it: calls in groups, and schemas in lines.

const METHODS = ["get", "post", "put", "patch", "delete"];

// Calls are `{ id, method, path, summary, operation, group }`, your own indexes first, then tag by tag.
export function callsOf(document) {
  const titles = document.tags.map((tag) => titleOf(tag.name));
  const calls = Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => {
      const operation = item[method];
      return {
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        summary: operation.summary || "",
        operation,
        group: groupOf(path, operation),
      };
    }),
  );
  return calls.sort((one, other) => titles.indexOf(one.group) - titles.indexOf(other.group));
}

function groupOf(path, operation) {
  const own = /^\/api\/indexes\/([^/{}]+)\//.exec(path);
  return own ? own[1] : titleOf(operation.tags[0]);
}

const titleOf = (tag) => tag[0].toUpperCase() + tag.slice(1);

export function matching(calls, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return calls.filter((call) => {
    const about = `${call.method} ${call.path} ${call.summary} ${call.id}`.toLowerCase();
    return words.every((word) => about.includes(word));
  });
}

export const grouped = (calls) => Map.groupBy(calls, (call) => call.group);

export const needsAdmin = (operation) => (operation.security || []).some((one) => "adminKey" in one);

export function answerSchema(operation) {
  const good = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  return good ? (good[1].content || {})["application/json"]?.schema : undefined;
}

const resolve = (schema, document) =>
  schema && schema.$ref
    ? {
        ...schema.$ref
          .replace(/^#\//, "")
          .split("/")
          .reduce((at, step) => at[step], document),
        name: schema.$ref.split("/").pop(),
      }
    : schema || {};

// A schema as lines `{ depth, name, type, about, isRequired }`. One that contains itself is not followed again.
export function schemaLines(schema, document, depth = 0, above = []) {
  const found = resolve(schema, document);
  if (found.name && above.includes(found.name)) return [];
  const inside = [...above, found.name].filter(Boolean);
  const members = found.properties || (found.items ? resolve(found.items, document).properties : undefined);
  const list = found.items ? resolve(found.items, document) : null;
  const chain = list && list.name ? [...inside, list.name] : inside;
  if (!members || (list && list.name && above.includes(list.name))) return [];
  const required = (list || found).required || [];
  return Object.entries(members).flatMap(([name, member]) => [
    {
      depth,
      name,
      type: typeOf(member, document),
      about: resolve(member, document).description || "",
      isRequired: required.includes(name),
    },
    ...schemaLines(member, document, depth + 1, chain),
  ]);
}

function typeOf(schema, document) {
  const found = resolve(schema, document);
  if (found.enum) return found.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (found.const !== undefined) return JSON.stringify(found.const);
  const several = found.anyOf || found.oneOf;
  if (several) return several.map((one) => typeOf(one, document)).join(" | ");
  if (found.type === "array") return `${typeOf(found.items, document)}[]`;
  return [found.type].flat().filter(Boolean).join(" | ") || "any";
}

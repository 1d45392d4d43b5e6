// A call with the values of its parameters: as an address, and as a line for a terminal.
import { API } from "../../lib/calls.js";
import { curlSecret, quoted } from "../../lib/snippets.js";

// Relative to the API, which lies at /api/.
export function pathOf(path, parameters, values) {
  const given = parameters.filter((parameter) => values[parameter.name]);
  const filled = given
    .filter((one) => one.in === "path")
    .reduce((text, one) => text.replace(`{${one.name}}`, encodeURIComponent(values[one.name])), path);
  const query = new URLSearchParams(
    given.filter((one) => one.in === "query").map((one) => [one.name, values[one.name]]),
  );
  return `${filled.replace(/^\/api\//, "")}${String(query) ? `?${query}` : ""}`;
}

export function curlOf({ method, path }, parameters, values, body) {
  const verb = method === "GET" ? "curl" : `curl -X ${method}`;
  const data = body ? [`-H 'content-type: application/json' -d ${quoted(body)}`] : [];
  return [`${verb} ${quoted(`${API.href}${pathOf(path, parameters, values)}`)}`, ...curlSecret(), ...data].join(" \\\n  ");
}

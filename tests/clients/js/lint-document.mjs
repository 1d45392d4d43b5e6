// Prints what spectral:oas and redocly's recommended rules find in an OpenAPI document, a line each.
import { readFileSync } from "node:fs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";

const source = readFileSync(process.argv[2], "utf8");

const linter = new spectral.Spectral();
linter.setRuleset(new spectral.Ruleset({ extends: [rulesets.oas] }));
for (const { code, path, message } of await linter.run(source)) {
  console.log("spectral", code, path.join("/"), message);
}

const config = await createConfig({ extends: ["recommended"] });
for (const { ruleId, location, message } of await lintFromString({ source, config })) {
  console.log("redocly", ruleId, location[0].pointer, message);
}

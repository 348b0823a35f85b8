import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { renderRuntimeFacts } from "../../scripts/serializers.mjs";
import { stringifyRuntime } from "../../src/workers/json/runtime-facts-module.ts";

test("the serializer of the runtime facts is that of the schema, `npm run serializers`", () => {
  const file = new URL("../../src/workers/json/runtime-facts-module.ts", import.meta.url);
  expect(readFileSync(file, "utf8")).toBe(renderRuntimeFacts());
});

test("the runtime facts are written as JSON.stringify writes them, in the order of the schema", () => {
  const facts = {
    sdk: 'mill"race\\ \ud800',
    sdk_version: "1.2.3",
    runtime: "node\n",
    runtime_version: "v20.19.0",
    platform: "línux",
  };
  expect(stringifyRuntime(facts)).toBe(JSON.stringify(facts));
});

import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { condense } from "../scripts/platform-api.mjs";

const description = new URL("../../shared/spec/openapi-subset.json", import.meta.url);
const facts = new URL("fixtures/platform-api.json", import.meta.url);

test("the fixture of the platform's API matches its description", ({ skip }) => {
  skip(
    !existsSync(description),
    "the platform's description is not available next to this repository",
  );
  const api: unknown = JSON.parse(readFileSync(description, "utf8"));
  expect(readFileSync(facts, "utf8")).toBe(condense(api));
});

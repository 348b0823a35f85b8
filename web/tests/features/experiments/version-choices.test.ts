import { expect, test } from "vitest";
import { toVersionChoices } from "../../../src/features/experiments/launch/example-fields.tsx";

const versions = [
  { asOf: "2026-11-21T10:00:00Z", atMs: 0, tags: ["latest"] },
  { asOf: "2026-11-20T10:00:00Z", atMs: 0, tags: ["prod"] },
];

test("the latest version is the first choice, then the tags and the versions", () => {
  expect(toVersionChoices(versions, "")).toMatchObject([
    { value: "", label: "Latest version" },
    { group: "Tags", items: [{ value: "prod" }] },
    { group: "Versions", items: [{ value: versions[0]?.asOf }, { value: versions[1]?.asOf }] },
  ]);
});

test("a version that is not listed stays chosen", () => {
  expect(toVersionChoices(versions, "2026-01-01")[1]).toMatchObject({ value: "2026-01-01" });
  expect(toVersionChoices(versions, "prod")).toHaveLength(3);
});

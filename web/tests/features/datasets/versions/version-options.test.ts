import { expect, test } from "vitest";
import {
  findVersion,
  toVersionOptions,
} from "../../../../src/features/datasets/versions/version-options.ts";

const toVersion = (asOf: string, tags: readonly string[] = []) => ({ asOf, atMs: 0, tags });
const versions = [toVersion("c", ["latest"]), toVersion("b", ["prod"]), toVersion("a")];
const readNumbers = (known: { asOf: string; number: number | undefined }) =>
  toVersionOptions(versions, known).map(({ label }) => /^#\d+/.exec(label)?.[0]);

test.for([
  { asOf: "latest", number: 12 },
  { asOf: "prod", number: 11 },
  { asOf: "a", number: 10 },
])("versions are labelled by number if that of $asOf is known", (known) => {
  expect(readNumbers(known)).toEqual(["#12", "#11", "#10"]);
});

test("without a known number, versions are labelled by time and tags", () => {
  const unnumbered = [undefined, undefined, undefined];
  expect(readNumbers({ asOf: "latest", number: undefined })).toEqual(unnumbered);
  expect(readNumbers({ asOf: "older", number: 3 })).toEqual(unnumbered);
  expect(toVersionOptions(versions, { asOf: "x", number: 1 })[1]?.label).toContain(" · prod");
});

test("a version is found by its timestamp or its tag", () => {
  expect(["latest", "prod", "a", "z"].map((asOf) => findVersion(versions, asOf)?.asOf)).toEqual([
    "c",
    "b",
    "a",
    undefined,
  ]);
});

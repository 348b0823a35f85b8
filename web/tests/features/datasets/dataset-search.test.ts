import { expect, test } from "vitest";
import {
  parseDatasetSearch,
  parseDatasetsSearch,
  parseSharedSearch,
  toExampleParameters,
} from "../../../src/features/datasets/dataset-search.ts";

test("valid parameters of the URL are kept, and others dropped", () => {
  expect(parseDatasetsSearch({ q: 12, sort: "name", order: "up", x: 1 })).toEqual({
    q: "12",
    sort: "name",
  });
  const example = "01a20025-2cae-71af-a91e-cf2295203e3a";
  const metadata = { source: "web" };
  expect(
    parseDatasetSearch({ tab: "versions", q: true, example, metadata, kind: "no", asOf: "prod" }),
  ).toEqual({ tab: "versions", q: "true", example, metadata: '{"source":"web"}', asOf: "prod" });
  expect(parseDatasetSearch({ example: "x", metadata: "{", split: "" })).toEqual({});
  expect(parseSharedSearch({ q: "a", tab: "versions", metadata, asOf: "prod" })).toEqual({
    q: "a",
  });
});

test("a filter becomes one query parameter for each of its conditions", () => {
  const parameters = toExampleParameters({ q: "a&b", split: "test", asOf: "prod" });
  expect(parameters.toString()).toBe("full_text_contains=a%26b&splits=test&as_of=prod");
});

import { expect, test } from "vitest";
import { checkFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import { findRequiredFacets } from "../../required-facets.ts";

const findFacets = (filter: string) => findRequiredFacets(checkFilter(filter, runFields));

test.each([
  ['eq(metadata.k, "v")', 'and(eq(metadata_key, "k"), eq(metadata_value, "v"))'],
  [
    'and(eq(metadata.k, "v"), gt(latency, 1))',
    'and(eq(metadata_key, "k"), eq(metadata_value, "v"))',
  ],
  ["exists(metadata.k)", 'eq(metadata_key, "k")'],
])("%s queries the same facets as %s", (path, pair) => {
  expect(findFacets(path)).toEqual(findFacets(pair));
  expect(findFacets(path)).not.toEqual([]);
});

test.each<[string, readonly (readonly string[])[]]>([
  ['eq(metadata.k, "v")', [["p1:k=v"]]],
  ['and(eq(name, "n"), eq(metadata_key, "k"), eq(metadata_value, "v"))', [["p1:k=v"], ["nn"]]],
  ['and(eq(metadata_key, "k"), gt(metadata_value, 1))', [["kk"]]],
  ['or(eq(metadata.k, "v"), has(tags, "t"))', [["p1:k=v", "tt"]]],
  ['in(metadata.k, ["v", "w"])', [["kk"]]],
  ["gt(metadata.k, 1)", [["kk"]]],
  [`has(metadata.k, '{"a": "b"}')`, [["kk"]]],
  ['or(eq(metadata.k, "v"), eq(metadata.l, 1))', [["p1:k=v", "kl"]]],
  ['neq(metadata.k, "v")', []],
  ['not(eq(metadata.k, "v"))', []],
  ['or(eq(metadata.k, "v"), neq(metadata.l, 1))', []],
  ['eq(metadata.k.l, "v")', []],
  ['eq(inputs.k, "v")', []],
])("the facets that %s queries", (filter, facets) => {
  expect(findFacets(filter)).toEqual(facets);
});

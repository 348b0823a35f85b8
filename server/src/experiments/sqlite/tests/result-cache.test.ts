import { expect, test } from "vitest";
import type { ComparedExperiment } from "../../experiment.ts";
import { ResultCache } from "../result-cache.ts";

const createExperiment = (id: string, exampleCount: number): ComparedExperiment => ({
  id,
  exampleIds: Array.from({ length: exampleCount }, (_, index) => `example ${index}`),
  runCounts: [],
  errorCounts: [],
  firstStartMicros: [],
  scores: new Map(),
});

/** A cache of 10 results, and the keys whose experiments were read again. */
function createCache() {
  const cache = new ResultCache(10);
  const loaded: string[] = [];
  const read = (key: string, { version = 1, exampleCount = 3 } = {}) =>
    cache.read(key, version, () => {
      loaded.push(key);
      return createExperiment(`${key} ${version}`, exampleCount);
    });
  return { read, loaded };
}

test("an experiment is read once for each version", () => {
  const { read, loaded } = createCache();
  expect([read("a").id, read("a").id, read("a", { version: 2 }).id]).toEqual(["a 1", "a 1", "a 2"]);
  expect(read("a").id).toBe("a 1");
  expect(loaded).toEqual(["a", "a", "a"]);
});

test("beyond the limit, the experiments that were not used for longest are dropped", () => {
  const { read, loaded } = createCache();
  read("a");
  read("b");
  read("a");
  read("c");
  read("a");
  expect(loaded).toEqual(["a", "b", "c"]);
  read("b");
  expect(loaded).toEqual(["a", "b", "c", "b"]);
});

test("an experiment that is larger than the limit is returned, and not kept", () => {
  const { read, loaded } = createCache();
  expect(read("large", { exampleCount: 20 }).exampleIds).toHaveLength(20);
  read("large", { exampleCount: 20 });
  expect(loaded).toEqual(["large", "large"]);
});

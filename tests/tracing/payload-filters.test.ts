import { expect, test } from "vitest";
import { PayloadFilters, createFailureMarker } from "../../src/tracing/tape/payload-filters.ts";
import type { FilterOptions } from "../../src/tracing/tape/payload-filters.ts";

function hiding(options: Partial<FilterOptions>): { hiding: PayloadFilters; failures: string[] } {
  const failures: string[] = [];
  const none = { hideInputs: false, hideOutputs: false, hideMetadata: false } as const;
  return {
    failures,
    hiding: new PayloadFilters({ ...none, ...options }, (message) => failures.push(message)),
  };
}

test("true hides all of it; false none", () => {
  const { hiding: hide } = hiding({ hideInputs: true });
  expect(hide.filterInputs({ secret: 1 })).toEqual({});
  expect(hide.filterOutputs({ shown: 1 })).toEqual({ shown: 1 });
});

test("a function is called once per value, and what it returns is recorded", () => {
  const collector: unknown[] = [];
  const { hiding: hide } = hiding({
    hideOutputs: (value) => {
      collector.push(value);
      return { n: Object.keys(value).length };
    },
  });
  expect(hide.filterOutputs({ a: 1, b: 2 })).toEqual({ n: 2 });
  expect(collector).toEqual([{ a: 1, b: 2 }]);
});

test("a function that throws hides all of it; neither value nor message is logged", () => {
  const { hiding: hide, failures } = hiding({
    hideInputs: () => {
      throw new Error("secret-7");
    },
  });
  expect(hide.filterInputs({ secret: "secret-7" })).toEqual(createFailureMarker("inputs"));
  expect(failures).toEqual(["Hiding inputs failed: the function threw."]);
});

test("a function that returns a promise, or nothing, hides all of it", () => {
  for (const returned of [Promise.resolve({ secret: 1 }), undefined, "text"]) {
    const { hiding: hide, failures } = hiding({ hideMetadata: () => returned as never });
    expect(hide.filterMetadata({ secret: 1 })).toEqual(createFailureMarker("metadata"));
    expect(failures).toHaveLength(1);
  }
});

test("metadata inside a whole extra is hidden too", () => {
  const { hiding: hide } = hiding({ hideMetadata: true });
  expect(hide.filterExtra({ metadata: { secret: 1 }, runtime: { sdk: "x" } })).toEqual({
    metadata: {},
    runtime: { sdk: "x" },
  });
});

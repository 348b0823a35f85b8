import { expect, test } from "vitest";
import { createPropagationFilter } from "../../src/delivery/propagation-filter.ts";
import type { RedactionPlan } from "../../src/model/options/redaction-search.ts";
import { PayloadFilters } from "../../src/tracing/tape/payload-filters.ts";
import type { InheritedFields } from "../../src/tracing/tape/recorder.ts";
import { planOf } from "../support/redaction.ts";

const showing = new PayloadFilters(
  { hideInputs: true, hideOutputs: true, hideMetadata: false },
  () => undefined,
);

/** Filters fields with a plan; also returns how often that failed. */
function filtered(
  plan: RedactionPlan,
  fields: InheritedFields,
): { readonly fields: InheritedFields | undefined; readonly failures: number } {
  let failures = 0;
  const filter = createPropagationFilter({
    filters: showing,
    plan,
    onFailure: () => {
      failures += 1;
    },
  });
  return { fields: filter?.(fields), failures };
}

test("without rules and hidden metadata there is nothing to filter", () => {
  const onFailure = (): void => undefined;
  expect(createPropagationFilter({ filters: showing, plan: undefined, onFailure })).toBeUndefined();
});

test("tags and metadata in which nothing matches stay the same", () => {
  const fields = { tags: ["a", "ж"], metadata: { n: 1.5, list: [true, null], deep: { t: "é" } } };
  expect(filtered(planOf(["secrets", "emails"]), fields)).toEqual({ fields, failures: 0 });
});

test("tags and metadata are left out if a rule throws", () => {
  class Failing extends RegExp {
    override exec(): null {
      throw new RangeError("the text was hunter2");
    }
  }
  const plan = { ...planOf(["cards"]), searches: [{ name: "x", pattern: new Failing("x", "g") }] };
  expect(filtered(plan, { tags: ["a"], metadata: { a: "b" } })).toEqual({
    fields: { tags: undefined, metadata: undefined },
    failures: 1,
  });
});

test("tags and metadata that are too long for a header are left out, not truncated", () => {
  const metadata = { long: `${"x".repeat(65_530)} ada@example.org` };
  expect(filtered(planOf(["emails"]), { tags: ["a"], metadata })).toEqual({
    fields: { tags: undefined, metadata: undefined },
    failures: 1,
  });
});

test("metadata that can't be read are left out", () => {
  const metadata = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error("hostile");
      },
    },
  );
  const { fields } = filtered(planOf(["emails"]), { tags: ["a"], metadata });
  expect(fields?.metadata).toBeUndefined();
});

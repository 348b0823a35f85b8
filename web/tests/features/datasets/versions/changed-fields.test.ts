import { expect, test } from "vitest";
import type { ExamplePreview } from "../../../../src/features/datasets/examples/example.ts";
import { findChangedFields } from "../../../../src/features/datasets/versions/changed-fields.ts";

const preview = (text: string, chars = text.length) => ({ text, chars });
const example = (outputs: ExamplePreview["outputs"]): ExamplePreview => ({
  id: "a",
  createdMs: 0,
  modifiedMs: 0,
  sourceRunId: undefined,
  inputs: preview('{"q":1}'),
  outputs,
  metadata: preview("{}"),
  splits: [],
  attachmentCount: 0,
});

test("the paths of the changed fields are found, in outputs as well", () => {
  const { fields, isPartial } = findChangedFields(
    example(preview('{"answer":"old","same":1}')),
    example(preview('{"answer":"new","same":1}')),
  );
  expect(fields).toEqual([
    { path: "outputs.answer", kind: "modified", before: "old", after: "new" },
  ]);
  expect(isPartial).toBe(false);
});

test("payloads that were cut off are compared by their beginnings, and marked", () => {
  const cut = example(preview('{"answer":"a lo', 9_000));
  expect(findChangedFields(cut, cut)).toEqual({ fields: [], isPartial: true });
  const other = example(preview('{"answer":"an o', 9_000));
  expect(findChangedFields(cut, other).fields.map(({ path }) => path)).toEqual(["outputs"]);
});

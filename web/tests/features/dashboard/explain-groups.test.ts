import { expect, test } from "vitest";
import { explainNoValues } from "../../../src/features/dashboard/explain-groups.ts";

const none = [{ kind: "none" }] as const;
const some = [{ kind: "value" }, { kind: "none" }] as const;

test.each([
  [none, "models", "tag", "None of these runs has a tag of its own."],
  [none, "all", "user", "None of these runs has a user of its own."],
  [none, "traces", "model", "No root run names a model."],
] as const)("groups %j of %s by %s are explained", (groups, scope, grouping, text) => {
  expect(explainNoValues(groups, { scope, grouping })).toContain(text);
});

test.each([
  [some, "models", "tag"],
  [none, "traces", "tag"],
  [none, "models", "name"],
  [[], "models", "tag"],
  [none, "models", undefined],
] as const)("groups %j of %s by %s need no explanation", (groups, scope, grouping) => {
  expect(explainNoValues(groups, { scope, grouping })).toBeUndefined();
});

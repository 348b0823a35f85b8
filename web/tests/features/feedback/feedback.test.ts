import { expect, test } from "vitest";
import { parseFeedbackSearch, toPeriod } from "../../../src/features/feedback/feedback-search.ts";
import { parseFeedbackForm, parseFeedbackList } from "../../../src/features/feedback/feedback.ts";

test("invalid parameters of the URL are left out", () => {
  const project = "0a1b2c3d-0000-4000-8000-000000000000";
  expect(parseFeedbackSearch({ project, key: 7, days: 7, other: 1 })).toEqual({
    project,
    key: "7",
    days: 7,
  });
  expect(parseFeedbackSearch({ project: "<b>", key: "", days: 8 })).toEqual({});
  const period = { from: "2026-03-01T00:00:00.000Z", to: "2026-03-02T00:00:00.000Z" };
  expect(parseFeedbackSearch(period)).toEqual(period);
  expect(toPeriod(period)).toEqual({
    fromMs: Date.parse(period.from),
    toMs: Date.parse(period.to),
  });
  expect(parseFeedbackSearch({ from: period.to, to: period.from })).toEqual({});
  expect(parseFeedbackSearch({ from: period.from })).toEqual({});
});

test("score and value are shown together, without a missing one", () => {
  const [both, none] = parseFeedbackList([
    { id: "1", key: "k", score: 0.5, value: { a: 1 }, created_at: "2026-03-01T00:00:00Z" },
    { id: "2", key: "k", score: null, value: null },
  ]);
  expect(both?.scoreText).toBe('0.5 · {"a":1}');
  expect(none?.scoreText).toBe("");
  expect(() => parseFeedbackList({})).toThrow(TypeError);
});

test.each([
  [
    { type: "continuous", min: 0, max: 5 },
    { kind: "score", min: 0, max: 5 },
  ],
  [
    { type: "categorical", categories: [{ value: 1, label: "yes" }, { value: 0 }] },
    {
      kind: "choice",
      choices: [
        { score: 1, label: "yes" },
        { score: 0, label: "0" },
      ],
    },
  ],
  [{ type: "freeform" }, { kind: "text" }],
  [null, { kind: "thumb" }],
])("a token with the config %j shows the input %j", (config, input) => {
  expect(parseFeedbackForm({ key: "k", config, is_expired: false }).input).toEqual(input);
});

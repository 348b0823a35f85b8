import { describe, expect, test } from "vitest";
import { computeRenewalDelayMs } from "../../../src/features/queues/review/use-claim.ts";
import {
  parseClaim,
  parseQueue,
  parseQueuedRuns,
  parseRunIds,
} from "../../../src/features/queues/queue.ts";
import {
  validateQueueDraft,
  createQuestion,
  parseChoices,
  createQueueDraft,
  toQueueFields,
} from "../../../src/features/queues/queue-draft.ts";
import { parseQueueSearch } from "../../../src/features/queues/routes.ts";
import {
  setAnswer,
  parseCorrectedOutputs,
  restoreDraft,
  emptyDraft,
  deleteDraft,
  deleteOldDrafts,
  saveDraft,
  findMissingAnswers,
  readDraft,
  toFeedbackWrites,
} from "../../../src/features/queues/review/review-draft.ts";
import type { DraftStorage } from "../../../src/features/queues/review/review-draft.ts";
import { toReviewAction } from "../../../src/features/queues/review/review-keys.ts";
import { toDigitAnswer, toRubricQuestion } from "../../../src/features/queues/rubric.ts";
import type { RubricQuestion } from "../../../src/features/queues/rubric.ts";

const input = (item: object): RubricQuestion => toRubricQuestion({ feedback_key: "k", ...item })!;

/** A storage that is limited to a number of characters. */
function createStorage(limitChars = 10_000): DraftStorage {
  const stored = new Map<string, string>();
  return {
    get length() {
      return stored.size;
    },
    key: (index) => [...stored.keys()][index] ?? null,
    getItem: (name) => stored.get(name) ?? null,
    removeItem: (name) => void stored.delete(name),
    setItem: (name, value) => {
      if (value.length > limitChars) {
        throw new DOMException("storage is full", "QuotaExceededError");
      }
      stored.set(name, value);
    },
  };
}

describe("questions", () => {
  test("a rubric item's input follows its configuration, or else its descriptions", () => {
    expect(input({ is_assertion: false })).toMatchObject({ kind: "continuous", min: 0, max: 1 });
    // A client may leave the member out; most rubric items are assertions.
    expect(input({})).toEqual(input({ is_assertion: true }));
    expect(input({ is_assertion: true })).toMatchObject({
      choices: [{ label: "Yes", score: 1 }, { score: 0 }],
    });
    expect(
      input({ score_descriptions: { "10": "ten", "2": "two", x: "no number" } }),
    ).toMatchObject({
      choices: [
        { score: 2, description: "two" },
        { score: 10, description: "ten" },
      ],
    });
    expect(input({ value_descriptions: { good: "g" } })).toMatchObject({
      choices: [{ value: "good", description: "g" }],
    });
    expect(input({ feedback_config: { type: "freeform" } }).kind).toBe("freeform");
    expect(input({ feedback_config: { type: "continuous", min: 5, max: 1 } })).toMatchObject({
      min: 0,
      max: 1,
    });
    expect(toRubricQuestion({ feedback_key: "" })).toBeUndefined();
  });

  test("a number key selects a choice by position, a score of a short scale, or tenths of a range", () => {
    const choices = input({ is_assertion: true });
    expect([1, 2, 3, 0].map((digit) => toDigitAnswer(choices, digit))).toEqual([
      { score: 1 },
      { score: 0 },
      undefined,
      undefined,
    ]);
    const scale = input({ feedback_config: { type: "continuous", min: 1, max: 5 } });
    expect([1, 5, 6, 0].map((digit) => toDigitAnswer(scale, digit)?.score)).toEqual([
      1,
      5,
      undefined,
      undefined,
    ]);
    const share = input({ is_assertion: false });
    expect([1, 7, 0].map((digit) => toDigitAnswer(share, digit)?.score)).toEqual([0.1, 0.7, 1]);
    expect(toDigitAnswer(input({ feedback_config: { type: "freeform" } }), 1)).toBeUndefined();
  });

  test("a queue that is loaded into the form and saved is unchanged", () => {
    const item = {
      feedback_key: "style",
      description: "d",
      is_required: true,
      feedback_config: {
        type: "categorical",
        categories: [
          { value: 0, label: "bad" },
          { value: 3, label: "good" },
        ],
      },
    };
    const range = { feedback_config: { type: "continuous", min: 1, max: 5 } };
    const queue = parseQueue({
      id: "q",
      name: "n",
      rubric_items: [item, { ...range, feedback_key: "r", is_required: false }],
      num_reviewers_per_item: 2,
      enable_reservations: false,
      reservation_minutes: null,
    });
    expect(queue).toMatchObject({ reviewersPerRun: 2, claimMinutes: undefined });
    expect(toQueueFields(createQueueDraft(queue))).toMatchObject({
      name: "n",
      rubric_items: [item, { ...range, feedback_key: "r" }],
      num_reviewers_per_item: 2,
      enable_reservations: false,
    });
  });

  test("each line is a choice, with a score, a name, or both", () => {
    expect(parseChoices(" 2 = fine \n\n-1\nbad")).toEqual([
      { label: "fine", score: 2, value: "fine" },
      { label: "-1", score: -1 },
      { label: "bad", score: 2, value: "bad" },
    ]);
  });

  test.each([
    [{ name: " " }, /Enter a name/],
    [{ questions: [createQuestion("0")] }, /Enter a key/],
    [{ questions: [createQuestion("0", "a"), createQuestion("1", "a")] }, /have the key a/],
    [
      { questions: [{ ...createQuestion("0", "a"), kind: "continuous", max: 0 }] },
      /greater than its minimum/,
    ],
    [
      { questions: [{ ...createQuestion("0", "a"), kind: "categorical", choices: "1" }] },
      /two choices/,
    ],
    [
      { questions: [{ ...createQuestion("0", "a"), kind: "categorical", choices: "1=a\n1=b" }] },
      /same score/,
    ],
  ] as const)("a form with %j says why it can't be sent", (changes, fault) => {
    const draft = { ...createQueueDraft(undefined), name: "n", ...changes };
    expect(validateQueueDraft(draft)).toMatch(fault);
    expect(validateQueueDraft({ ...createQueueDraft(undefined), name: "n" })).toBeUndefined();
  });
});

describe("drafts", () => {
  const key = { queueId: "q", positionId: "p", reviewer: "ann" };

  test("a stored draft is read back, but only for the same reviewer", () => {
    const storage = createStorage();
    const draft = { ...setAnswer(emptyDraft, "k", { score: 1 }), note: "n", correction: "{}" };
    expect(saveDraft(storage, key, { draft, nowMs: 5 })).toBe(true);
    expect(readDraft(storage, key)).toEqual(draft);
    expect(readDraft(storage, { ...key, reviewer: "bob" })).toBeUndefined();
    deleteDraft(storage, key);
    expect(readDraft(storage, key)).toBeUndefined();
  });

  test("a full storage is reported, and other stored data is not taken for a draft", () => {
    const storage = createStorage(20);
    expect(saveDraft(storage, key, { draft: emptyDraft, nowMs: 0 })).toBe(false);
    storage.setItem("millrace-review:q:p:ann", "{");
    expect(readDraft(storage, key)).toBeUndefined();
  });

  test("only drafts that are older than a month are deleted", () => {
    const storage = createStorage();
    const day = 86_400_000;
    saveDraft(storage, key, { draft: emptyDraft, nowMs: 0 });
    saveDraft(storage, { ...key, positionId: "new" }, { draft: emptyDraft, nowMs: 20 * day });
    storage.setItem("theme", "dark");
    deleteOldDrafts(storage, 31 * day);
    expect(readDraft(storage, key)).toBeUndefined();
    expect(storage.length).toBe(2);
  });

  test("a draft becomes feedback with stable ids, and deletes feedback for cleared answers", () => {
    const inputs = [input({ is_required: true })];
    expect(findMissingAnswers(inputs, emptyDraft)).toEqual(["k"]);
    const draft = {
      ...setAnswer(emptyDraft, "k", { score: 0.5 }),
      note: "n",
      correction: "no JSON",
      ids: { k: "kept", gone: "old" },
      sent: ["k", "gone"],
    };
    let createdCount = 0;
    const writes = toFeedbackWrites(draft, inputs, () => `new ${(createdCount += 1)}`);
    expect(writes).toMatchObject([
      { id: "kept", key: "k", isSent: true, body: { score: 0.5, value: null } },
      { id: "new 1", key: "note", isSent: false, body: { comment: "n" } },
      { id: "new 2", key: "correction", body: { correction: "no JSON" } },
      { id: "old", key: "gone", isSent: true, body: undefined },
    ]);
    expect(findMissingAnswers(inputs, draft)).toEqual([]);
    expect(parseCorrectedOutputs('{"a":1}')).toEqual({ a: 1 });
    expect(parseCorrectedOutputs("[1]")).toBeUndefined();
  });

  test("a draft is restored from the reviewer's latest feedback in this queue", () => {
    const source = (reviewer: string) => ({
      feedback_source: { type: "app", metadata: { reviewer, annotation_queue_id: "q" } },
    });
    const feedback = [
      { id: "1", key: "k", score: true, value: null, ...source("ann") },
      { id: "0", key: "k", score: 0, ...source("ann") },
      { id: "2", key: "note", comment: "n", ...source("ann") },
      { id: "3", key: "correction", correction: { a: 1 }, ...source("ann") },
      { id: "4", key: "other", score: 1, ...source("bob") },
    ];
    expect(restoreDraft(feedback, key)).toEqual({
      answers: { k: { score: 1 } },
      note: "n",
      correction: '{\n  "a": 1\n}',
      ids: { k: "1", note: "2", correction: "3" },
      sent: ["k", "note", "correction"],
    });
  });
});

test("keys are shortcuts, except while a text field or a slider has the focus", () => {
  const pressed = {
    key: "d",
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    target: "page",
  } as const;
  expect(toReviewAction(pressed)).toEqual({ kind: "done" });
  expect(toReviewAction({ ...pressed, target: "text" })).toBeUndefined();
  expect(toReviewAction({ ...pressed, ctrlKey: true })).toBeUndefined();
  expect(toReviewAction({ ...pressed, key: "Enter", ctrlKey: true, target: "text" })).toEqual({
    kind: "done",
  });
  expect(toReviewAction({ ...pressed, key: "7", target: "slider" })).toEqual({
    kind: "digit",
    digit: 7,
  });
  expect(toReviewAction({ ...pressed, key: "ArrowUp", target: "slider" })).toBeUndefined();
  expect(toReviewAction({ ...pressed, key: "ArrowUp" })).toEqual({ kind: "question", step: -1 });
});

test("a claim is renewed after a third of its time, and requested again if no run was free", () => {
  const claim = { id: "p", runId: "r", isCompleted: false, addedMs: 0, reviews: [], index: 0 };
  expect(computeRenewalDelayMs({ ...claim, untilMs: 61_000 }, 1_000)).toBe(20_000);
  expect(computeRenewalDelayMs({ ...claim, untilMs: 0 }, 1_000)).toBe(2_000);
  expect(computeRenewalDelayMs({ ...claim, untilMs: 9_000_000 }, 0)).toBe(60_000);
  expect(computeRenewalDelayMs({ ...claim, untilMs: undefined }, 0)).toBe(false);
  expect(computeRenewalDelayMs(null, 0)).toBe(5_000);
});

test("run ids are found in lists and in URLs", () => {
  const [a, b, c] = ["a", "b", "c"].map((digit) => `0000000${digit}-0000-4000-8000-000000000000`);
  expect(parseRunIds(`${a}, ${b?.toUpperCase()}\n${a}`)).toEqual([a, b]);
  expect(
    parseRunIds(`http://h/o/${c}/projects/p/${c}?trace=${a}&run=${b} and ?trace=${a}`),
  ).toEqual([b, a]);
  expect(parseRunIds("none")).toEqual([]);
});

test("valid parts of responses and URLs are parsed, and invalid ones left out", () => {
  expect(parseClaim({ run: null })).toBeNull();
  expect(
    parseClaim({ run: { id: "p", run_id: "r", index: 3, claimed_until: null } }),
  ).toMatchObject({
    index: 3,
    untilMs: undefined,
    reviews: [],
  });
  expect(() => parseQueue([])).toThrow(/not an annotation queue/);
  expect(parseQueuedRuns([{ end_time: null }, { end_time: 5, has_error: true }])).toMatchObject([
    { status: "pending" },
    { status: "error" },
  ]);
  expect(parseQueueSearch({ run: "x", view: "other" })).toEqual({});
});

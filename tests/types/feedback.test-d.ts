import { expectTypeOf, test } from "vitest";
import type {
  CreateFeedback,
  Feedback,
  Feedbacks,
  FeedbackToken,
  Pages,
} from "../../src/main/index.ts";

const runId = "run";
const projectId = "project";

test("feedback is on a run or on a project, never on both, never on neither", () => {
  expectTypeOf<{ runId: string; key: string }>().toExtend<CreateFeedback>();
  expectTypeOf<{ projectId: string; key: string }>().toExtend<CreateFeedback>();
  // @ts-expect-error one of the two is required
  const neither: CreateFeedback = { key: "k" };
  // @ts-expect-error only one of the two is allowed
  const both: CreateFeedback = { key: "k", runId, projectId };
  expectTypeOf([neither, both]).toEqualTypeOf<CreateFeedback[]>();
});

test("a score is a number or a boolean, a value any JSON", () => {
  expectTypeOf<Feedback["score"]>().toEqualTypeOf<number | boolean | undefined>();
  expectTypeOf<Feedback["value"]>().toBeUnknown();
});

test("one token for one request, a list for a list", () => {
  expectTypeOf<ReturnType<Feedbacks["createToken"]>>().toEqualTypeOf<Promise<FeedbackToken>>();
  expectTypeOf<ReturnType<Feedbacks["createTokens"]>>().toEqualTypeOf<Promise<FeedbackToken[]>>();
  expectTypeOf<ReturnType<Feedbacks["listTokens"]>>().toEqualTypeOf<Pages<FeedbackToken>>();
  expectTypeOf<ReturnType<Feedbacks["list"]>>().toEqualTypeOf<Pages<Feedback>>();
});

test("every call takes a signal", () => {
  type Last<Args extends readonly unknown[]> = Args extends readonly [...unknown[], infer End]
    ? End
    : never;
  expectTypeOf<{ signal: AbortSignal }>().toExtend<
    Last<Required<Parameters<Feedbacks["createToken"]>>>
  >();
  expectTypeOf<CreateFeedback["signal"]>().toEqualTypeOf<AbortSignal | undefined>();
});

import { randomUUID } from "node:crypto";
import { Type } from "typebox";
import type { Static } from "typebox";
import { Value } from "typebox/value";
import { RequestError, messageOf } from "../../model/errors.ts";
import { parseId } from "../../http/query-string.ts";
import { JsonObject, Maybe, Time } from "../../http/schema-parts.ts";
import type { FeedbackDraft, Judgement } from "../run-feedback.ts";
import { serverLimits } from "../../model/options.ts";
import { JsonCursor } from "../../bodies/json-cursor.ts";
import { parseOptionalTime } from "../../model/parse-time.ts";

const Score = Type.Union([Type.Number(), Type.Boolean()]);
const Correction = Type.Union([JsonObject, Type.String()]);

/** Schema of the configuration of a feedback key: what its scores mean. */
export const feedbackConfigSchema = Type.Object({
  type: Type.Union([
    Type.Literal("continuous"),
    Type.Literal("categorical"),
    Type.Literal("freeform"),
  ]),
  min: Maybe(Type.Number()),
  max: Maybe(Type.Number()),
  categories: Maybe(
    Type.Array(Type.Object({ value: Type.Number(), label: Maybe(Type.String({ minLength: 1 })) })),
  ),
});

export const feedbackKey = Type.String({ minLength: 1, maxLength: 180 });

const judgementMembers = {
  score: Maybe(Score),
  value: Type.Optional(Type.Unknown()),
  comment: Maybe(Type.String()),
  correction: Maybe(Correction),
};

/** Body of `POST /feedback`, and of a part `feedback.<run id>`. Unknown members are ignored. */
export const feedbackBody = Type.Object({
  ...judgementMembers,
  id: Maybe(Type.String()),
  key: feedbackKey,
  run_id: Maybe(Type.String()),
  session_id: Maybe(Type.String()),
  comparative_experiment_id: Maybe(Type.String()),
  feedback_source: Maybe(Type.Object({ type: Maybe(Type.String()), metadata: Maybe(JsonObject) })),
  feedback_config: Maybe(feedbackConfigSchema),
  /** Some clients send the configuration in camel case. */
  feedbackConfig: Maybe(feedbackConfigSchema),
  /** Whether the evaluator failed. */
  error: Maybe(Type.Boolean()),
  created_at: Maybe(Time),
});

/** Body of `PATCH /feedback/{id}`. Absent members stay unchanged; null clears a member. */
export const feedbackPatchBody = Type.Object({
  ...judgementMembers,
  feedback_config: Maybe(feedbackConfigSchema),
});

/** Body of `POST /feedback/tokens/{token}`. */
export const submittedFeedbackBody = Type.Object({
  ...judgementMembers,
  metadata: Maybe(JsonObject),
});

export type FeedbackBody = Static<typeof feedbackBody>;
export type FeedbackPatchBody = Static<typeof feedbackPatchBody>;
export type SubmittedFeedbackBody = Static<typeof submittedFeedbackBody>;

/**
 * Converts the body of a request to feedback that can be stored.
 *
 * @throws RequestError 422: the body contains neither a run id nor a project id, an id is not a UUID, or the time is
 * invalid.
 */
export function toFeedbackDraft(body: FeedbackBody): FeedbackDraft {
  const runId = parseOptionalId(body.run_id, "run_id");
  const projectId = parseOptionalId(body.session_id, "session_id");
  if (runId === null && projectId === null) {
    throw new RequestError(422, "One of run_id or session_id must be provided");
  }
  const metadata = body.feedback_source?.metadata ?? null;
  checkSourceRun(metadata);
  return {
    ...toJudgement(body, body.feedback_config ?? body.feedbackConfig),
    id: parseOptionalId(body.id, "id") ?? randomUUID(),
    runId,
    projectId,
    comparativeId: parseOptionalId(body.comparative_experiment_id, "comparative_experiment_id"),
    key: body.key,
    sourceType: body.feedback_source?.type ?? "api",
    sourceMetadata: metadata,
    extra: typeof body.error === "boolean" ? { error: body.error } : null,
    createdMicros: parseOptionalTime(body.created_at, "created_at"),
  };
}

/** Selects the members of a judgement. Absent members become `null`. */
export const toJudgement = (
  body: Pick<SubmittedFeedbackBody, "score" | "value" | "comment" | "correction">,
  config: Judgement["config"] | undefined,
): Judgement => ({
  score: body.score ?? null,
  value: body.value ?? null,
  comment: body.comment ?? null,
  correction: body.correction ?? null,
  config: config ?? null,
});

/**
 * Parses a part `feedback.<run id>`. The client langsmith 0.12 names the part `feedback.<feedback id>` instead.
 *
 * @throws RequestError 422: the feedback is malformed, or its ids do not match the part's name.
 */
export function parseFeedbackPart(json: Buffer, id: string): FeedbackDraft {
  try {
    new JsonCursor(json, serverLimits.bodyDepth).assertOneValue();
  } catch (cause) {
    throw new RequestError(422, `is ${messageOf(cause)}`);
  }
  const body: unknown = JSON.parse(json.toString("utf8"));
  if (!Value.Check(feedbackBody, body)) {
    const [firstError] = Value.Errors(feedbackBody, body);
    const path = firstError?.instancePath === "" ? "it" : firstError?.instancePath;
    throw new RequestError(422, `is not valid feedback: ${path} ${firstError?.message}`);
  }
  const draft = toFeedbackDraft({ ...body, run_id: body.run_id ?? id });
  const matchesPartName = [draft.runId, draft.id].includes(id.toLowerCase());
  if (!matchesPartName) {
    throw new RequestError(422, `is for run ${draft.runId}, but the part's name has another id`);
  }
  return draft;
}

/** Checks the id of the evaluator's own run, which the metadata may contain. */
function checkSourceRun(metadata: FeedbackDraft["sourceMetadata"]): void {
  const run = metadata?.["__run"];
  const id: unknown =
    typeof run === "object" && run !== null ? Reflect.get(run, "run_id") : undefined;
  if (id !== undefined && id !== null) {
    parseOptionalId(id, "feedback_source.metadata.__run.run_id");
  }
}

const parseOptionalId = (id: unknown, name: string): string | null =>
  id === undefined || id === null ? null : parseId(id, name);

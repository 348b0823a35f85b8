import { omitUndefined } from "../omit-undefined.ts";
import type { EvaluationResult, EvaluatorReturn } from "./evaluation-result.ts";
import { toResultList } from "./evaluation-result.ts";
import { createUnsupportedError } from "../unsupported.ts";
import type {
  Feedback,
  FeedbackConfig,
  FeedbackConfigSchema,
  FeedbackIngestToken,
  KVMap,
  Run,
  ScoreType,
  TimeDelta,
  ValueType,
} from "../schemas.ts";
import { convert } from "./base-client.ts";
import { ExampleMethods } from "./example-methods.ts";
import { toFeedback, toSnakeCase } from "./to-langsmith.ts";

/** Where feedback comes from. */
export type FeedbackSourceType = "model" | "api" | "app";

/** The content of feedback. */
export interface CreateFeedbackOptions {
  key: string;
  score?: ScoreType;
  value?: ValueType;
  correction?: object;
  comment?: string;
  sourceInfo?: object;
  feedbackSourceType?: FeedbackSourceType;
  feedbackConfig?: FeedbackConfig;
  sourceRunId?: string;
  feedbackId?: string;
  traceId?: string;
  comparativeExperimentId?: string;
  startTime?: number | string;
  extendTraceRetention?: boolean;
}

/** The content of feedback whose run and key are separate arguments. */
export interface CreateFeedbackLegacyOptions extends Omit<CreateFeedbackOptions, "key"> {
  eager?: boolean;
  sessionId?: string;
  projectId?: string;
}

/** The content of feedback, and the run or project that it is about. */
export type CreateFeedbackParams = CreateFeedbackOptions &
  (
    | { runId: string; sessionId: string; projectId?: never }
    | { runId?: null; projectId: string; sessionId?: never }
  );

/** Arguments of `logEvaluationFeedback`. */
interface EvaluationFeedback {
  evaluatorResponse: EvaluatorReturn;
  run?: Run;
  projectId?: string;
  sourceInfo?: KVMap;
}

/** The part of the client for feedback. */
export class FeedbackMethods extends ExampleMethods {
  async createFeedback(params: CreateFeedbackParams): Promise<Feedback>;
  async createFeedback(
    runId: string | null,
    key: string,
    options: CreateFeedbackLegacyOptions,
  ): Promise<Feedback>;
  async createFeedback(
    runIdOrParams: string | null | CreateFeedbackParams,
    key?: string,
    options: CreateFeedbackLegacyOptions = {},
  ): Promise<Feedback> {
    const params =
      typeof runIdOrParams === "object" && runIdOrParams !== null
        ? runIdOrParams
        : { ...options, key: String(key), runId: runIdOrParams };
    const { runId, projectId, sessionId, startTime } = params;
    const target =
      typeof runId === "string" ? { runId } : { projectId: projectId ?? sessionId ?? "" };
    return toFeedback(
      await this.millrace.feedback.create({
        ...target,
        ...omitUndefined({
          key: params.key,
          id: params.feedbackId,
          score: params.score,
          value: params.value,
          correction: toKeyValues(params.correction),
          comment: params.comment,
          sourceType: params.feedbackSourceType,
          sourceMetadata: toKeyValues(params.sourceInfo),
          sourceRunId: params.sourceRunId,
          feedbackConfig: params.feedbackConfig,
          traceId: params.traceId,
          comparativeExperimentId: params.comparativeExperimentId,
          runProjectId: "runId" in target ? sessionId : undefined,
          runStartTime: startTime === undefined ? undefined : new Date(startTime),
        }),
      }),
    );
  }

  async updateFeedback(
    feedbackId: string,
    changes: {
      score?: number | boolean | null;
      value?: ValueType;
      correction?: object | null;
      comment?: string | null;
    },
  ): Promise<void> {
    const { correction, ...others } = changes;
    await this.millrace.feedback.update(
      feedbackId,
      omitUndefined({ ...others, correction: toKeyValues(correction) }),
    );
  }

  async readFeedback(feedbackId: string): Promise<Feedback> {
    return toFeedback(await this.millrace.feedback.read(feedbackId));
  }

  async deleteFeedback(feedbackId: string): Promise<void> {
    await this.millrace.feedback.delete(feedbackId);
  }

  async *listFeedback(
    filter: {
      runIds?: string[];
      feedbackKeys?: string[];
      feedbackSourceTypes?: FeedbackSourceType[];
    } = {},
  ): AsyncIterable<Feedback> {
    const { runIds, feedbackKeys: keys, feedbackSourceTypes: sourceTypes } = filter;
    yield* convert(
      this.millrace.feedback.list(omitUndefined({ runIds, keys, sourceTypes })),
      toFeedback,
    );
  }

  async createPresignedFeedbackToken(
    runId: string,
    feedbackKey: string,
    options: { expiration?: string | TimeDelta; feedbackConfig?: FeedbackConfig } = {},
  ): Promise<FeedbackIngestToken> {
    const token = await this.millrace.feedback.createToken(
      runId,
      feedbackKey,
      omitUndefined({ ...options, feedbackConfig: options.feedbackConfig }),
    );
    return toSnakeCase(token) as unknown as FeedbackIngestToken;
  }

  async *listPresignedFeedbackTokens(runId: string): AsyncIterable<FeedbackIngestToken> {
    yield* convert(
      this.millrace.feedback.listTokens(runId),
      (token) => toSnakeCase(token) as unknown as FeedbackIngestToken,
    );
  }

  /** Stores the results of an evaluator as feedback on a run. */
  async logEvaluationFeedback(params: EvaluationFeedback): Promise<EvaluationResult[]>;
  async logEvaluationFeedback(
    ...args: [response: EvaluatorReturn, run?: Run, sourceInfo?: KVMap, sessionId?: string]
  ): Promise<EvaluationResult[]>;
  async logEvaluationFeedback(
    ...args:
      | [EvaluationFeedback]
      | [response: EvaluatorReturn, run?: Run, sourceInfo?: KVMap, sessionId?: string]
  ): Promise<EvaluationResult[]> {
    const params = toEvaluationFeedback(args);
    const { run, sourceInfo, projectId } = params;
    const results = toResultList(params.evaluatorResponse);
    for (const result of results) {
      const runId = result.targetRunId ?? run?.id ?? null;
      const info = { ...result.evaluatorInfo, ...sourceInfo };
      await this.createFeedback(
        runId,
        result.key,
        omitUndefined({
          score: result.score,
          value: result.value,
          comment: result.comment,
          correction: result.correction,
          sourceInfo: info,
          sourceRunId: result.sourceRunId,
          feedbackConfig: result.feedbackConfig,
          feedbackSourceType: "model" as const,
          sessionId: run?.session_id ?? projectId,
          startTime: run?.start_time,
          traceId: runId === run?.id ? run?.trace_id : undefined,
        }),
      );
    }
    return results;
  }

  /** Not supported. */
  createFeedbackConfig(_options: object): Promise<FeedbackConfigSchema> {
    throw createUnsupportedError("Client.createFeedbackConfig", feedbackConfigAdvice);
  }

  /** Not supported. */
  listFeedbackConfigs(_options?: object): AsyncIterableIterator<FeedbackConfigSchema> {
    throw createUnsupportedError("Client.listFeedbackConfigs", feedbackConfigAdvice);
  }

  /** Not supported. */
  addFeedbackCategories(_feedbackKey: string, _categories: object): Promise<FeedbackConfigSchema> {
    throw createUnsupportedError("Client.addFeedbackCategories", feedbackConfigAdvice);
  }

  /** Not supported. */
  removeFeedbackCategories(
    _feedbackKey: string,
    _categories: object,
  ): Promise<FeedbackConfigSchema> {
    throw createUnsupportedError("Client.removeFeedbackCategories", feedbackConfigAdvice);
  }

  /** Not supported. */
  updateFeedbackConfig(_feedbackKey: string, _options?: object): Promise<FeedbackConfigSchema> {
    throw createUnsupportedError("Client.updateFeedbackConfig", feedbackConfigAdvice);
  }

  /** Not supported. */
  deleteFeedbackConfig(_feedbackKey: string): Promise<void> {
    throw createUnsupportedError("Client.deleteFeedbackConfig", feedbackConfigAdvice);
  }
}

/** Narrows the type `object`, which does not describe the members of a value. */
const toKeyValues = <Value extends object | null | undefined>(
  value: Value,
): KVMap | Exclude<Value, object> => value as KVMap;

const feedbackConfigAdvice = "Pass the option feedbackConfig with the feedback.";

function toEvaluationFeedback(
  args:
    | [EvaluationFeedback]
    | [response: EvaluatorReturn, run?: Run, sourceInfo?: KVMap, sessionId?: string],
): EvaluationFeedback {
  const [first, run, sourceInfo, sessionId] = args;
  return "evaluatorResponse" in first
    ? first
    : (omitUndefined({
        evaluatorResponse: first,
        run,
        sourceInfo,
        projectId: sessionId,
      }) as EvaluationFeedback);
}

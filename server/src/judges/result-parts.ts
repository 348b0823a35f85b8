import { toIso } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import { MultipartBatch } from "../runs/ingest/multipart-batch.ts";
import type { RunStore } from "../runs/run-store.ts";

/** A run or feedback, as a part of the body of `POST /runs/multipart`. */
export interface ResultPart {
  readonly name: string;
  readonly body: object;
}

/** A score of a run, or the reason why there is none. */
export type FeedbackOutcome =
  | { readonly key: string; readonly score: number | boolean; readonly comment?: string }
  | { readonly key: string; readonly value: string; readonly comment?: string }
  | { readonly key: string; readonly error: string };

/** Feedback that the server itself creates, on a run. */
export interface CreatedFeedback {
  readonly id: string;
  readonly runId: string;
  readonly traceId: string;
  readonly outcome: FeedbackOutcome;
  /** The run of the judge's call. */
  readonly sourceRunId?: string | undefined;
  /** Further metadata of the source. */
  readonly metadata?: object;
}

/** Creates the feedback of a scorer or a judge, in the form in which the SDK sends it. */
export function createFeedbackPart(feedback: CreatedFeedback): ResultPart {
  const { id, runId, traceId, outcome, sourceRunId, metadata } = feedback;
  const isError = "error" in outcome;
  return {
    name: `feedback.${runId}`,
    body: {
      id,
      run_id: runId,
      trace_id: traceId,
      ...(isError ? { key: outcome.key, comment: outcome.error, error: true } : outcome),
      feedback_source: {
        type: "model",
        metadata: {
          ...(sourceRunId === undefined ? {} : { __run: { run_id: sourceRunId } }),
          ...(isError ? { error: true } : {}),
          ...metadata,
        },
      },
    },
  };
}

/**
 * Stores runs and feedback at once.
 *
 * @throws RequestError 422: one of them can't be stored.
 */
export async function storeParts(
  store: Pick<RunStore, "ingest">,
  tenantId: string,
  parts: readonly ResultPart[],
): Promise<void> {
  const multipart = new MultipartBatch();
  for (const { name, body } of parts) {
    const bytes = Buffer.from(JSON.stringify(body));
    multipart.add({ name, contentType: "application/json", bytes, fault: undefined });
  }
  await multipart.parse();
  const { batch, rejected } = multipart.build();
  const result = await store.ingest(tenantId, batch);
  const [rejection] = [...rejected, ...result.rejected];
  if (rejection !== undefined) {
    throw new RequestError(422, `the result can't be stored: ${rejection.reason}`);
  }
}

/** Converts milliseconds since the Unix epoch to a time in the form of the API (ISO 8601). */
export const toWireTime = (ms: number): string => toIso(ms * 1_000);

/** Creates a segment of a dotted order. */
export const toOrderSegment = (ms: number, id: string): string =>
  `${new Date(ms).toISOString().replaceAll(/[-:.Z]/g, "")}000Z${id}`;

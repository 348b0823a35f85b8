import { parseRunAttachments } from "./attachment-response.ts";
import type { Attachment } from "./attachment-response.ts";
import { Fields } from "../fields.ts";
import type { KeyValues, RunExtra } from "../run.ts";

/**
 * A run that was read from the server. Members that the server omits or sends as null are absent;
 * recorded values are unchanged.
 */
export interface Run {
  readonly id: string;
  readonly name: string;
  readonly runType: string;
  /** A time in ISO 8601 format. */
  readonly startTime?: string | undefined;
  /** A time in ISO 8601 format; absent while the run is open. */
  readonly endTime?: string | undefined;
  /** State of the run, such as `success`, `error` or `pending`. */
  readonly status?: string | undefined;
  readonly inputs?: KeyValues | undefined;
  readonly outputs?: KeyValues | undefined;
  /** Message and stack of the error with which the run failed. */
  readonly error?: string | undefined;
  /** Free-form data as it was recorded, including the member `metadata`. */
  readonly extra?: RunExtra | undefined;
  readonly serialized?: unknown;
  readonly events?: readonly unknown[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly parentRunId?: string | undefined;
  /** Ids of the ancestors, the root first. */
  readonly parentRunIds?: readonly string[] | undefined;
  readonly childRunIds?: readonly string[] | undefined;
  readonly directChildRunIds?: readonly string[] | undefined;
  readonly traceId?: string | undefined;
  /**
   * The run's ancestry as a sortable text: one segment `<start><id>` for each ancestor and for the run, joined by dots.
   * The dotted order of a child run begins with the dotted order of its parent.
   */
  readonly dottedOrder?: string | undefined;
  readonly projectId?: string | undefined;
  readonly projectName?: string | undefined;
  readonly referenceExampleId?: string | undefined;
  readonly totalTokens?: number | undefined;
  readonly promptTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  /** In US dollars, as the server sent it: a string such as "0.0042", or a number. */
  readonly totalCost?: string | number | undefined;
  /** In US dollars, as the server sent it: a string such as "0.0042", or a number. */
  readonly promptCost?: string | number | undefined;
  /** In US dollars, as the server sent it: a string such as "0.0042", or a number. */
  readonly completionCost?: string | number | undefined;
  /** A time in ISO 8601 format. */
  readonly firstTokenTime?: string | undefined;
  /** Statistics by feedback key. */
  readonly feedbackStats?: KeyValues | undefined;
  readonly executionOrder?: number | undefined;
  readonly inDataset?: boolean | undefined;
  readonly manifestId?: string | undefined;
  readonly shareToken?: string | undefined;
  /** Path of the run's page in the UI. */
  readonly appPath?: string | undefined;
  /** URLs of the run's attachments, by name. {@link Runs.readAttachment} reads an attachment. */
  readonly attachments?: Readonly<Record<string, Attachment>> | undefined;
  /** The child runs, ordered by start; present with `withChildRuns: true`. */
  readonly childRuns?: readonly Run[] | undefined;
}

/** A member of a {@link Run} that `select` can request. */
export type RunField = Exclude<keyof Run, "attachments" | "childRuns">;

/**
 * A run of a list with `select`: only its id and the selected members are returned. The others are absent even if the
 * run has them.
 */
export type SelectedRun<Field extends RunField> = Partial<Run> &
  // If `Field` is the type of all fields, it does not show which ones are selected at run time.
  Pick<Run, "id" | (RunField extends Field ? never : Field)>;

/** Names of the members of a run in the wire format. */
export const runFields: { readonly [Name in RunField]: string } = {
  id: "id",
  name: "name",
  runType: "run_type",
  startTime: "start_time",
  endTime: "end_time",
  status: "status",
  inputs: "inputs",
  outputs: "outputs",
  error: "error",
  extra: "extra",
  serialized: "serialized",
  events: "events",
  tags: "tags",
  parentRunId: "parent_run_id",
  parentRunIds: "parent_run_ids",
  childRunIds: "child_run_ids",
  directChildRunIds: "direct_child_run_ids",
  traceId: "trace_id",
  dottedOrder: "dotted_order",
  projectId: "session_id",
  projectName: "session_name",
  referenceExampleId: "reference_example_id",
  totalTokens: "total_tokens",
  promptTokens: "prompt_tokens",
  completionTokens: "completion_tokens",
  totalCost: "total_cost",
  promptCost: "prompt_cost",
  completionCost: "completion_cost",
  firstTokenTime: "first_token_time",
  feedbackStats: "feedback_stats",
  executionOrder: "execution_order",
  inDataset: "in_dataset",
  manifestId: "manifest_id",
  shareToken: "share_token",
  appPath: "app_path",
};

const runFieldEntries = Object.entries(runFields);

/**
 * Converts a run from the wire format.
 *
 * @throws {@link ResponseError} if `value` is not a run.
 */
export function parseRun(value: unknown): Run {
  const fields = new Fields(value, "run");
  const run: Record<string, unknown> = { id: fields.readText("id") };
  for (const [name, wireName] of runFieldEntries) {
    const member = fields.readValue(wireName);
    if (member !== undefined && member !== null) {
      run[name] = member;
    }
  }
  const attachments = parseRunAttachments(value);
  return {
    ...(run as unknown as Run),
    ...(Object.keys(attachments).length === 0 ? {} : { attachments }),
  };
}

import { Type } from "typebox";
import type { Static, TSchema } from "typebox";
import {
  Amount,
  AmountOrNull,
  AnyObject,
  Anything,
  Bytes,
  Count,
  CountOrNull,
  errorSchema,
  Id,
  IdOrNull,
  IsoTime,
  List,
  Maybe,
  Members,
  Nothing,
  Nullable,
  OneOf,
  Text,
  TextOrNull,
  Time,
  TimeOrNull,
} from "../http/schema-parts.ts";
import { runStatuses } from "../model/run-status.ts";

/** A value that a client sent, returned byte for byte. */
const UnchangedJson = Type.Unknown({ description: "Any JSON value, as it was sent." });

/** Statistics of feedback, by key. */
export const feedbackStatsSchema = Members(
  Type.Object(
    {
      n: Count,
      avg: AmountOrNull,
      values: Members(Count),
    },
    { title: "FeedbackKeyStats" },
  ),
);

const fileUrl = Type.Object(
  { presigned_url: Text, s3_url: Text, mime_type: Text },
  { title: "FileUrl" },
);

/** The URLs of files, by `attachment.<name>`. */
export const fileUrlsSchema = Nullable(Members(fileUrl));

/** Costs by kind of token. */
const AmountsOrNull = Nullable(Members(Amount));

/** The members of a run, in addition to its id. */
const runMembers = {
  name: Text,
  run_type: Text,
  start_time: IsoTime,
  end_time: TimeOrNull,
  status: OneOf(runStatuses),
  parent_run_id: IdOrNull,
  parent_run_ids: List(Id),
  child_run_ids: Nullable(List(Id)),
  direct_child_run_ids: Nullable(List(Id)),
  trace_id: Id,
  dotted_order: Text,
  session_id: Id,
  session_name: Text,
  reference_example_id: IdOrNull,
  execution_order: Count,
  in_dataset: Nothing,
  manifest_id: Nothing,
  share_token: TextOrNull,
  app_path: Text,
  total_tokens: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  total_cost: TextOrNull,
  prompt_cost: TextOrNull,
  completion_cost: TextOrNull,
  prompt_cost_details: AmountsOrNull,
  completion_cost_details: AmountsOrNull,
  first_token_time: TimeOrNull,
  feedback_stats: Nullable(feedbackStatsSchema),
  s3_urls: fileUrlsSchema,
  thread_id: TextOrNull,
  inputs: UnchangedJson,
  outputs: UnchangedJson,
  error: UnchangedJson,
  extra: UnchangedJson,
  serialized: UnchangedJson,
  events: UnchangedJson,
  tags: UnchangedJson,
};

/** A run also contains the members that its client sent and that this schema does not list. */
const withSentMembers = { additionalProperties: true } as const;

/** A run in a response. Handlers write it as bytes and copy its payloads as they were received. */
export const runSchema = Type.Object(
  { id: Id, ...runMembers },
  { title: "Run", ...withSentMembers },
);

/** A run with only the members that the request selected. */
const selectedRunSchema = Type.Unsafe<unknown>({
  ...runSchema,
  title: "SelectedRun",
  required: ["id"],
});

/** Creates the schema of a run with additional members. */
export const createRunSchema = <MoreMembers extends Readonly<Record<string, TSchema>>>(
  members: MoreMembers,
  title: string,
) => Type.Object({ id: Id, ...runMembers, ...members }, { title, ...withSentMembers });

export const runPageSchema = Type.Object({
  runs: List(selectedRunSchema),
  cursors: Type.Object({ next: TextOrNull, prev: Nothing }),
  parsed_query: Nothing,
});

const statisticsMembers = {
  run_count: Count,
  latency_p50: AmountOrNull,
  latency_p99: AmountOrNull,
  first_token_p50: AmountOrNull,
  first_token_p99: AmountOrNull,
  total_tokens: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  median_tokens: CountOrNull,
  tokens_p99: CountOrNull,
  prompt_tokens_p50: CountOrNull,
  prompt_tokens_p99: CountOrNull,
  completion_tokens_p50: CountOrNull,
  completion_tokens_p99: CountOrNull,
  last_run_start_time: TimeOrNull,
  feedback_stats: feedbackStatsSchema,
  run_facets: List(Anything),
  error_rate: AmountOrNull,
  streaming_rate: AmountOrNull,
  total_cost: AmountOrNull,
  prompt_cost: AmountOrNull,
  completion_cost: AmountOrNull,
  cost_p50: AmountOrNull,
  cost_p99: AmountOrNull,
};

export const runStatisticsSchema = Type.Object(statisticsMembers, { title: "RunStatistics" });
export type RunStatisticsJson = Static<typeof runStatisticsSchema>;

/** The statistics of a project's runs. The sums of costs are strings here, but numbers in `runStatisticsSchema`. */
export const projectStatisticsMembers = {
  ...statisticsMembers,
  total_cost: TextOrNull,
  prompt_cost: TextOrNull,
  completion_cost: TextOrNull,
};

export const runShareSchema = Type.Object({ run_id: Id, share_token: Text }, { title: "RunShare" });
export const maybeRunShareSchema = Nullable(runShareSchema);

const ingestMembers = {
  accepted: Count,
  duplicates: Count,
  rejected: List(
    Type.Object({
      id: TextOrNull,
      operation: Nullable(OneOf(["post", "patch"])),
      reason: Text,
    }),
  ),
};

export const ingestResultSchema = Type.Object(ingestMembers, { title: "IngestResult" });

/** The response to a batch that contains no valid run. */
const nothingStoredSchema = Type.Object(
  {
    detail: List(Type.Object({ loc: List(Text), msg: Text, type: Text })),
    ...ingestMembers,
  },
  { title: "RefusedIngest" },
);

/** The response with status 422: either no run is valid, or the body can't be parsed. */
export const refusedIngestSchema = Type.Union([nothingStoredSchema, errorSchema]);

/** The response to a run that was received before. */
export const duplicateRunSchema = Type.Object(
  { error: Text, detail: Text },
  { title: "DuplicateRun" },
);

const SentText = Maybe(Text);
const SentId = Maybe(Id);
const SentTime = Maybe(Time);
const SentValue = Type.Optional(Anything);

const sentRunMembers = {
  name: SentText,
  run_type: SentText,
  start_time: SentTime,
  end_time: SentTime,
  parent_run_id: SentId,
  session_id: SentId,
  session_name: SentText,
  reference_example_id: SentId,
  inputs: SentValue,
  outputs: SentValue,
  error: SentValue,
  extra: SentValue,
  serialized: SentValue,
  events: SentValue,
  tags: SentValue,
};

/** Body of `POST /runs`. The server also stores members that this schema does not list. */
export const sentRunSchema = Type.Object(
  {
    id: Id,
    trace_id: SentId,
    dotted_order: SentText,
    ...sentRunMembers,
  },
  { title: "SentRun", ...withSentMembers },
);

/** Body of `PATCH /runs/{id}`. */
export const sentRunPatchSchema = Type.Object(
  {
    id: SentId,
    trace_id: SentId,
    dotted_order: SentText,
    ...sentRunMembers,
  },
  { title: "SentRunPatch", ...withSentMembers },
);

const batchRun = Type.Object(
  { id: Id, trace_id: Id, dotted_order: Text, ...sentRunMembers },
  { title: "BatchRun", ...withSentMembers },
);

/** Body of `POST /runs/batch`. */
export const runBatchSchema = Type.Object({
  post: Maybe(List(batchRun)),
  patch: Maybe(List(batchRun)),
});

/** Body of `POST /runs/multipart`, by the names of the parts. */
export const runPartsSchema = Type.Unsafe<unknown>({
  ...Members(Type.Union([batchRun, AnyObject, Bytes])),
  description:
    "Parts: `post.<run id>` and `patch.<run id>` contain a run as JSON, `post.<run id>.<field>` one of its fields (inputs, outputs, events, extra, error, serialized), `attachment.<run id>.<name>` a file, `feedback.<run id>` feedback as JSON. Each part declares its length, as a parameter of its content type or as Content-Length.",
});

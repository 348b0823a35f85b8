import { Type } from "typebox";
import type { Static, TSchema } from "typebox";
import {
  AnyObject,
  Bytes,
  errorSchema,
  Id,
  IsoTime,
  List,
  Maybe,
  Members,
  Nullable,
  OneOf,
  Time,
} from "../http/schema-parts.ts";

/** A value that a client sent, returned byte for byte. */
const Verbatim = Type.Unknown({ description: "Any JSON value, as it was sent." });

/** Statistics of feedback, by key. */
export const feedbackStatsSchema = Members(
  Type.Object(
    {
      n: Type.Integer(),
      avg: Nullable(Type.Number()),
      values: Members(Type.Integer()),
    },
    { title: "FeedbackKeyStats" },
  ),
);

const fileUrl = Type.Object(
  { presigned_url: Type.String(), s3_url: Type.String(), mime_type: Type.String() },
  { title: "FileUrl" },
);

/** The URLs of files, by `attachment.<name>`. */
export const fileUrlsSchema = Nullable(Members(fileUrl));

/** The members of a run, in addition to its id. */
const runMembers = {
  name: Type.String(),
  run_type: Type.String(),
  start_time: IsoTime,
  end_time: Nullable(IsoTime),
  status: OneOf(["pending", "success", "error"]),
  parent_run_id: Nullable(Id),
  parent_run_ids: List(Id),
  child_run_ids: Nullable(List(Id)),
  direct_child_run_ids: Nullable(List(Id)),
  trace_id: Id,
  dotted_order: Type.String(),
  session_id: Id,
  session_name: Type.String(),
  reference_example_id: Nullable(Id),
  execution_order: Type.Integer(),
  in_dataset: Type.Null(),
  manifest_id: Type.Null(),
  share_token: Nullable(Type.String()),
  app_path: Type.String(),
  total_tokens: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_cost: Nullable(Type.String()),
  prompt_cost: Nullable(Type.String()),
  completion_cost: Nullable(Type.String()),
  first_token_time: Nullable(IsoTime),
  feedback_stats: Nullable(feedbackStatsSchema),
  s3_urls: fileUrlsSchema,
  thread_id: Nullable(Type.String()),
  inputs: Verbatim,
  outputs: Verbatim,
  error: Verbatim,
  extra: Verbatim,
  serialized: Verbatim,
  events: Verbatim,
  tags: Verbatim,
};

/** A run also contains the other members that its client sent. */
const withSentMembers = { additionalProperties: true } as const;

/** Handlers write runs as bytes: payloads are copied as they were received. */
export const runSchema = Type.Object(
  { id: Id, ...runMembers },
  { title: "Run", ...withSentMembers },
);

/** A run of which the request selected members. */
const selectedRunSchema = Type.Object(
  {
    id: Id,
    ...Object.fromEntries(
      Object.entries<TSchema>(runMembers).map(([name, schema]) => [name, Type.Optional(schema)]),
    ),
  },
  { title: "SelectedRun", ...withSentMembers },
);

/** A run with further members. */
export const runWith = <MoreMembers extends Readonly<Record<string, TSchema>>>(
  members: MoreMembers,
  title: string,
) => Type.Object({ id: Id, ...runMembers, ...members }, { title, ...withSentMembers });

export const runPageSchema = Type.Object({
  runs: List(selectedRunSchema),
  cursors: Type.Object({ next: Nullable(Type.String()), prev: Type.Null() }),
  parsed_query: Type.Null(),
});

const Seconds = Nullable(Type.Number());
const Count = Nullable(Type.Integer());
const Cost = Nullable(Type.Number());
const CostText = Nullable(Type.String());

const statisticsMembers = {
  run_count: Type.Integer(),
  latency_p50: Seconds,
  latency_p99: Seconds,
  first_token_p50: Seconds,
  first_token_p99: Seconds,
  total_tokens: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  median_tokens: Count,
  tokens_p99: Count,
  prompt_tokens_p50: Count,
  prompt_tokens_p99: Count,
  completion_tokens_p50: Count,
  completion_tokens_p99: Count,
  last_run_start_time: Nullable(IsoTime),
  feedback_stats: feedbackStatsSchema,
  run_facets: List(Type.Unknown()),
  error_rate: Nullable(Type.Number()),
  streaming_rate: Nullable(Type.Number()),
  total_cost: Cost,
  prompt_cost: Cost,
  completion_cost: Cost,
  cost_p50: Cost,
  cost_p99: Cost,
};

export const runStatisticsSchema = Type.Object(statisticsMembers, { title: "RunStatistics" });
export type RunStatisticsJson = Static<typeof runStatisticsSchema>;

/** The statistics of a project's runs, where the sums of costs are strings. */
export const projectStatisticsMembers = {
  ...statisticsMembers,
  total_cost: CostText,
  prompt_cost: CostText,
  completion_cost: CostText,
};

const shareSchema = Type.Object({ run_id: Id, share_token: Type.String() }, { title: "RunShare" });
export const runShareSchema = shareSchema;
export const maybeRunShareSchema = Nullable(shareSchema);

const ingestMembers = {
  accepted: Type.Integer(),
  duplicates: Type.Integer(),
  rejected: List(
    Type.Object({
      id: Nullable(Type.String()),
      operation: Nullable(OneOf(["post", "patch"])),
      reason: Type.String(),
    }),
  ),
};

export const ingestResultSchema = Type.Object(ingestMembers, { title: "IngestResult" });

/** What a batch without a valid run results in. */
const noneStoredSchema = Type.Object(
  {
    detail: List(
      Type.Object({ loc: List(Type.String()), msg: Type.String(), type: Type.String() }),
    ),
    ...ingestMembers,
  },
  { title: "RefusedIngest" },
);

/** The response with status 422: no run is valid, or the body can't be parsed. */
export const refusedIngestSchema = Type.Union([noneStoredSchema, errorSchema]);

/** The response to a run that was received before. */
export const duplicateRunSchema = Type.Object(
  { error: Type.String(), detail: Type.String() },
  { title: "DuplicateRun" },
);

const sentRunMembers = {
  name: Maybe(Type.String()),
  run_type: Maybe(Type.String()),
  start_time: Maybe(Time),
  end_time: Maybe(Time),
  parent_run_id: Maybe(Id),
  session_id: Maybe(Id),
  session_name: Maybe(Type.String()),
  reference_example_id: Maybe(Id),
  inputs: Type.Optional(Type.Unknown()),
  outputs: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Unknown()),
  extra: Type.Optional(Type.Unknown()),
  serialized: Type.Optional(Type.Unknown()),
  events: Type.Optional(Type.Unknown()),
  tags: Type.Optional(Type.Unknown()),
};

/** Body of `POST /runs`. The server stores members that it does not know, too. */
export const sentRunSchema = Type.Object(
  {
    id: Id,
    trace_id: Maybe(Id),
    dotted_order: Maybe(Type.String()),
    ...sentRunMembers,
  },
  { title: "SentRun", ...withSentMembers },
);

/** Body of `PATCH /runs/{id}`. */
export const sentRunPatchSchema = Type.Object(
  {
    id: Maybe(Id),
    trace_id: Maybe(Id),
    dotted_order: Maybe(Type.String()),
    ...sentRunMembers,
  },
  { title: "SentRunPatch", ...withSentMembers },
);

const batchRun = Type.Object(
  { id: Id, trace_id: Id, dotted_order: Type.String(), ...sentRunMembers },
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

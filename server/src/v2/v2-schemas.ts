import { Type } from "typebox";
import type { TSchema } from "typebox";
import { v2DatasetSchema } from "../datasets/dataset-schemas.ts";
import { exampleWithRuns } from "../datasets/examples/example-schemas.ts";
import { Id, IsoTime, List, Members, Nullable, OneOf } from "../http/schema-parts.ts";
import { v2ProjectSchema } from "../projects/project-schemas.ts";
import { feedbackStatsSchema } from "../runs/run-schemas.ts";

const Text = Type.Optional(Type.String());
const Count = Type.Optional(Type.Integer());
const Amount = Type.Optional(Type.Number());
const SomeTime = Type.Optional(IsoTime);
const SomeId = Type.Optional(Id);
const Verbatim = Type.Optional(Type.Unknown());
const Status = Type.Optional(OneOf(["PENDING", "SUCCESS", "ERROR"]));

/** Numbers by category. */
const Amounts = Members(Type.Number());
const Details = Type.Optional(Type.Object({ raw: Amounts }));

/** The fields of a run that can be selected, in lower case; a field without a value is absent. */
const runFields = {
  name: Text,
  run_type: Text,
  status: Status,
  start_time: SomeTime,
  end_time: SomeTime,
  latency_seconds: Amount,
  first_token_time: SomeTime,
  error: Verbatim,
  error_preview: Text,
  extra: Verbatim,
  metadata: Verbatim,
  events: Verbatim,
  inputs: Verbatim,
  inputs_preview: Text,
  outputs: Verbatim,
  outputs_preview: Text,
  manifest: Verbatim,
  parent_run_id: SomeId,
  parent_run_ids: Type.Optional(List(Id)),
  project_id: SomeId,
  trace_id: SomeId,
  thread_id: Text,
  dotted_order: Text,
  is_root: Type.Optional(Type.Boolean()),
  reference_dataset_id: SomeId,
  reference_example_id: SomeId,
  total_tokens: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  total_cost: Amount,
  prompt_cost: Amount,
  completion_cost: Amount,
  prompt_token_details: Details,
  completion_token_details: Details,
  prompt_cost_details: Details,
  completion_cost_details: Details,
  tags: Verbatim,
  app_path: Text,
  attachments: Type.Optional(Members(Type.String())),
  share_url: Text,
  feedback_stats: Type.Optional(feedbackStatsSchema),
  last_queued_at: SomeTime,
  is_in_dataset: Type.Optional(Type.Boolean()),
};

export const v2RunSchema = Type.Object({ id: Id, ...runFields }, { title: "V2Run" });

const pageOf = (item: TSchema) =>
  Type.Object({ items: List(item), next_cursor: Nullable(Type.String()) });

/** A page: as one document, or as server-sent events whose data are JSON patches that build the document. */
const streamed = (item: TSchema) => ({
  contents: { "application/json": pageOf(item), "text/event-stream": Type.String() },
});

export const v2RunPages = streamed(v2RunSchema);
export const v2TraceRunsSchema = Type.Object({ items: List(v2RunSchema) });
export const v2RunUrlSchema = Type.Object({ url: Type.String() });

export const v2TracePages = streamed(
  Type.Object(
    {
      root_run: v2RunSchema,
      trace_aggregates: Type.Optional(
        Type.Object({ total_tokens: Count, total_cost: Amount, first_token_time: SomeTime }),
      ),
    },
    { title: "V2Trace" },
  ),
);

export const v2ThreadPages = streamed(
  Type.Object(
    {
      thread_id: Type.String(),
      count: Type.Integer(),
      trace_id: SomeId,
      first_trace_id: SomeId,
      last_trace_id: SomeId,
      first_inputs: Text,
      last_outputs: Text,
      last_error: Text,
      start_time: SomeTime,
      min_start_time: SomeTime,
      max_start_time: IsoTime,
      latency_p50: Amount,
      latency_p99: Amount,
      num_errored_turns: Type.Integer(),
      total_tokens: Type.Integer(),
      total_cost: Type.Number(),
      total_token_details: Amounts,
      total_cost_details: Amounts,
    },
    { title: "V2Thread" },
  ),
);

const { latency_seconds: _, ...turnFields } = runFields;

/** The traces of a thread, where the latency has another name than in runs. */
export const v2ThreadTracesSchema = pageOf(
  Type.Object({ ...turnFields, latency: Amount, turn_number: Count }, { title: "V2ThreadTrace" }),
);

/** The statistics that one thread and all threads have; a request selects some of them. */
const totals = {
  latency_p50_seconds: Amount,
  latency_p99_seconds: Amount,
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  prompt_cost: Amount,
  completion_cost: Amount,
  total_cost: Amount,
};

const SomeAmounts = Type.Optional(Amounts);

export const v2ThreadsStatisticsSchema = Type.Object(
  {
    ...totals,
    prompt_token_details: SomeAmounts,
    completion_token_details: SomeAmounts,
    prompt_cost_details: SomeAmounts,
    completion_cost_details: SomeAmounts,
    thread_count: Count,
    trace_count: Count,
    error_rate: Amount,
    streaming_rate: Amount,
    median_tokens: Amount,
    first_token_p50_seconds: Amount,
    first_token_p99_seconds: Amount,
    thread_feedback_stats: Type.Optional(feedbackStatsSchema),
  },
  { title: "V2ThreadsStatistics" },
);

export const v2ThreadStatisticsSchema = Type.Object(
  {
    ...totals,
    prompt_token_details: Details,
    completion_token_details: Details,
    prompt_cost_details: Details,
    completion_cost_details: Details,
    turns: Count,
    first_start_time: SomeTime,
    last_start_time: SomeTime,
    last_end_time: SomeTime,
    feedback_stats: Type.Optional(feedbackStatsSchema),
  },
  { title: "V2ThreadStatistics" },
);

export const v2ShareSchema = Type.Object({ share_token: Type.String() });
export const maybeV2ShareSchema = Type.Object({ share_token: Type.Optional(Type.String()) });

export const v2ProjectPageSchema = pageOf(v2ProjectSchema);
export const v2DatasetPageSchema = pageOf(v2DatasetSchema);
export const v2ExperimentRunPages = streamed(exampleWithRuns(v2RunSchema, "V2ExampleWithRuns"));

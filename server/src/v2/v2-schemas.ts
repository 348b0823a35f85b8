import { Type } from "typebox";
import type { TSchema } from "typebox";
import { v2DatasetSchema } from "../datasets/dataset-schemas.ts";
import { createExampleWithRunsSchema } from "../datasets/examples/example-schemas.ts";
import {
  Amount,
  Anything,
  Count,
  Flag,
  Id,
  IsoTime,
  List,
  Members,
  OneOf,
  Text,
  TextOrNull,
} from "../http/schema-parts.ts";
import { v2ProjectSchema } from "../projects/project-schemas.ts";
import { feedbackStatsSchema } from "../runs/run-schemas.ts";

const OptionalText = Type.Optional(Text);
const OptionalCount = Type.Optional(Count);
const OptionalAmount = Type.Optional(Amount);
const OptionalTime = Type.Optional(IsoTime);
const OptionalId = Type.Optional(Id);
const AnyJson = Type.Optional(Anything);
const Status = Type.Optional(OneOf(["PENDING", "SUCCESS", "ERROR"]));

/** Numbers by category. */
const Amounts = Members(Amount);
const Details = Type.Optional(Type.Object({ raw: Amounts }));

/** The fields of a run that can be selected, in lower case. A field without a value is absent. */
const runFields = {
  name: OptionalText,
  run_type: OptionalText,
  status: Status,
  start_time: OptionalTime,
  end_time: OptionalTime,
  latency_seconds: OptionalAmount,
  first_token_time: OptionalTime,
  error: AnyJson,
  error_preview: OptionalText,
  extra: AnyJson,
  metadata: AnyJson,
  events: AnyJson,
  inputs: AnyJson,
  inputs_preview: OptionalText,
  outputs: AnyJson,
  outputs_preview: OptionalText,
  manifest: AnyJson,
  parent_run_id: OptionalId,
  parent_run_ids: Type.Optional(List(Id)),
  project_id: OptionalId,
  trace_id: OptionalId,
  thread_id: OptionalText,
  dotted_order: OptionalText,
  is_root: Type.Optional(Flag),
  reference_dataset_id: OptionalId,
  reference_example_id: OptionalId,
  total_tokens: OptionalCount,
  prompt_tokens: OptionalCount,
  completion_tokens: OptionalCount,
  total_cost: OptionalAmount,
  prompt_cost: OptionalAmount,
  completion_cost: OptionalAmount,
  prompt_token_details: Details,
  completion_token_details: Details,
  prompt_cost_details: Details,
  completion_cost_details: Details,
  tags: AnyJson,
  app_path: OptionalText,
  attachments: Type.Optional(Members(Text)),
  share_url: OptionalText,
  feedback_stats: Type.Optional(feedbackStatsSchema),
  last_queued_at: OptionalTime,
  is_in_dataset: Type.Optional(Flag),
};

/** A run in version 2 of the API. The request selects its members. */
export const v2RunSchema = Type.Object({ id: Id, ...runFields }, { title: "V2Run" });

const createPageSchema = (item: TSchema) =>
  Type.Object({ items: List(item), next_cursor: TextOrNull });

/**
 * Creates the schema of a page: as one document, or as server-sent events whose data are JSON patches that build the
 * document.
 */
const createStreamedSchema = (item: TSchema) => ({
  contents: { "application/json": createPageSchema(item), "text/event-stream": Text },
});

export const v2RunPageSchema = createStreamedSchema(v2RunSchema);
export const v2TraceRunsSchema = Type.Object({ items: List(v2RunSchema) });
/** The URL of a run's page in the UI. */
export const v2RunUrlSchema = Type.Object({ url: Text });

export const v2TracePageSchema = createStreamedSchema(
  Type.Object(
    {
      root_run: v2RunSchema,
      trace_aggregates: Type.Optional(
        Type.Object({
          total_tokens: OptionalCount,
          total_cost: OptionalAmount,
          first_token_time: OptionalTime,
        }),
      ),
    },
    { title: "V2Trace" },
  ),
);

/** A page of a list of threads. A thread is a conversation: the traces that have the same thread id. */
export const v2ThreadPageSchema = createStreamedSchema(
  Type.Object(
    {
      thread_id: Text,
      count: Count,
      trace_id: OptionalId,
      first_trace_id: OptionalId,
      last_trace_id: OptionalId,
      first_inputs: OptionalText,
      last_outputs: OptionalText,
      last_error: OptionalText,
      start_time: OptionalTime,
      min_start_time: OptionalTime,
      max_start_time: IsoTime,
      latency_p50: OptionalAmount,
      latency_p99: OptionalAmount,
      num_errored_turns: Count,
      total_tokens: Count,
      total_cost: OptionalAmount,
      total_token_details: Amounts,
      total_cost_details: Amounts,
    },
    { title: "V2Thread" },
  ),
);

const { latency_seconds: _, ...turnFields } = runFields;

/** A page of the traces of a thread. Their latency is named `latency`, while that of runs is `latency_seconds`. */
export const v2ThreadTracesSchema = createPageSchema(
  Type.Object(
    { ...turnFields, latency: OptionalAmount, turn_number: OptionalCount },
    { title: "V2ThreadTrace" },
  ),
);

/** The statistics that are reported both for one thread and for all threads. A request selects some of them. */
const totalMembers = {
  latency_p50_seconds: OptionalAmount,
  latency_p99_seconds: OptionalAmount,
  prompt_tokens: OptionalCount,
  completion_tokens: OptionalCount,
  total_tokens: OptionalCount,
  prompt_cost: OptionalAmount,
  completion_cost: OptionalAmount,
  total_cost: OptionalAmount,
};

const OptionalAmounts = Type.Optional(Amounts);

/** The totals of all threads of a project. */
export const v2AllThreadsStatisticsSchema = Type.Object(
  {
    ...totalMembers,
    prompt_token_details: OptionalAmounts,
    completion_token_details: OptionalAmounts,
    prompt_cost_details: OptionalAmounts,
    completion_cost_details: OptionalAmounts,
    thread_count: OptionalCount,
    trace_count: OptionalCount,
    error_rate: OptionalAmount,
    streaming_rate: OptionalAmount,
    median_tokens: OptionalAmount,
    first_token_p50_seconds: OptionalAmount,
    first_token_p99_seconds: OptionalAmount,
    thread_feedback_stats: Type.Optional(feedbackStatsSchema),
  },
  { title: "V2ThreadsStatistics" },
);

export const v2ThreadStatisticsSchema = Type.Object(
  {
    ...totalMembers,
    prompt_token_details: Details,
    completion_token_details: Details,
    prompt_cost_details: Details,
    completion_cost_details: Details,
    turns: OptionalCount,
    first_start_time: OptionalTime,
    last_start_time: OptionalTime,
    last_end_time: OptionalTime,
    feedback_stats: Type.Optional(feedbackStatsSchema),
  },
  { title: "V2ThreadStatistics" },
);

/** The token with which anyone can read a shared trace or thread. */
export const v2ShareSchema = Type.Object({ share_token: Text });
/** The share of a thread; the object is empty if the thread is not shared. */
export const maybeV2ShareSchema = Type.Object({ share_token: Type.Optional(Text) });

export const v2ProjectPageSchema = createPageSchema(v2ProjectSchema);
export const v2DatasetPageSchema = createPageSchema(v2DatasetSchema);
/** A page of a list of examples, each with the runs of the experiments on it. */
export const v2ExperimentRunPageSchema = createStreamedSchema(
  createExampleWithRunsSchema(v2RunSchema, "V2ExampleWithRuns"),
);

import { Type } from "typebox";
import type { TSchema } from "typebox";
import { v2DatasetSchema } from "../datasets/dataset-schemas.ts";
import { exampleWithRuns } from "../datasets/examples/example-schemas.ts";
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

const SomeText = Type.Optional(Text);
const SomeCount = Type.Optional(Count);
const SomeAmount = Type.Optional(Amount);
const SomeTime = Type.Optional(IsoTime);
const SomeId = Type.Optional(Id);
const Verbatim = Type.Optional(Anything);
const Status = Type.Optional(OneOf(["PENDING", "SUCCESS", "ERROR"]));

/** Numbers by category. */
const Amounts = Members(Amount);
const Details = Type.Optional(Type.Object({ raw: Amounts }));

/** The fields of a run that can be selected, in lower case; a field without a value is absent. */
const runFields = {
  name: SomeText,
  run_type: SomeText,
  status: Status,
  start_time: SomeTime,
  end_time: SomeTime,
  latency_seconds: SomeAmount,
  first_token_time: SomeTime,
  error: Verbatim,
  error_preview: SomeText,
  extra: Verbatim,
  metadata: Verbatim,
  events: Verbatim,
  inputs: Verbatim,
  inputs_preview: SomeText,
  outputs: Verbatim,
  outputs_preview: SomeText,
  manifest: Verbatim,
  parent_run_id: SomeId,
  parent_run_ids: Type.Optional(List(Id)),
  project_id: SomeId,
  trace_id: SomeId,
  thread_id: SomeText,
  dotted_order: SomeText,
  is_root: Type.Optional(Flag),
  reference_dataset_id: SomeId,
  reference_example_id: SomeId,
  total_tokens: SomeCount,
  prompt_tokens: SomeCount,
  completion_tokens: SomeCount,
  total_cost: SomeAmount,
  prompt_cost: SomeAmount,
  completion_cost: SomeAmount,
  prompt_token_details: Details,
  completion_token_details: Details,
  prompt_cost_details: Details,
  completion_cost_details: Details,
  tags: Verbatim,
  app_path: SomeText,
  attachments: Type.Optional(Members(Text)),
  share_url: SomeText,
  feedback_stats: Type.Optional(feedbackStatsSchema),
  last_queued_at: SomeTime,
  is_in_dataset: Type.Optional(Flag),
};

export const v2RunSchema = Type.Object({ id: Id, ...runFields }, { title: "V2Run" });

const pageOf = (item: TSchema) => Type.Object({ items: List(item), next_cursor: TextOrNull });

/** A page: as one document, or as server-sent events whose data are JSON patches that build the document. */
const streamed = (item: TSchema) => ({
  contents: { "application/json": pageOf(item), "text/event-stream": Text },
});

export const v2RunPages = streamed(v2RunSchema);
export const v2TraceRunsSchema = Type.Object({ items: List(v2RunSchema) });
export const v2RunUrlSchema = Type.Object({ url: Text });

export const v2TracePages = streamed(
  Type.Object(
    {
      root_run: v2RunSchema,
      trace_aggregates: Type.Optional(
        Type.Object({
          total_tokens: SomeCount,
          total_cost: SomeAmount,
          first_token_time: SomeTime,
        }),
      ),
    },
    { title: "V2Trace" },
  ),
);

export const v2ThreadPages = streamed(
  Type.Object(
    {
      thread_id: Text,
      count: Count,
      trace_id: SomeId,
      first_trace_id: SomeId,
      last_trace_id: SomeId,
      first_inputs: SomeText,
      last_outputs: SomeText,
      last_error: SomeText,
      start_time: SomeTime,
      min_start_time: SomeTime,
      max_start_time: IsoTime,
      latency_p50: SomeAmount,
      latency_p99: SomeAmount,
      num_errored_turns: Count,
      total_tokens: Count,
      total_cost: Amount,
      total_token_details: Amounts,
      total_cost_details: Amounts,
    },
    { title: "V2Thread" },
  ),
);

const { latency_seconds: _, ...turnFields } = runFields;

/** The traces of a thread, where the latency has another name than in runs. */
export const v2ThreadTracesSchema = pageOf(
  Type.Object(
    { ...turnFields, latency: SomeAmount, turn_number: SomeCount },
    { title: "V2ThreadTrace" },
  ),
);

/** The statistics that one thread and all threads have; a request selects some of them. */
const totals = {
  latency_p50_seconds: SomeAmount,
  latency_p99_seconds: SomeAmount,
  prompt_tokens: SomeCount,
  completion_tokens: SomeCount,
  total_tokens: SomeCount,
  prompt_cost: SomeAmount,
  completion_cost: SomeAmount,
  total_cost: SomeAmount,
};

const SomeAmounts = Type.Optional(Amounts);

export const v2ThreadsStatisticsSchema = Type.Object(
  {
    ...totals,
    prompt_token_details: SomeAmounts,
    completion_token_details: SomeAmounts,
    prompt_cost_details: SomeAmounts,
    completion_cost_details: SomeAmounts,
    thread_count: SomeCount,
    trace_count: SomeCount,
    error_rate: SomeAmount,
    streaming_rate: SomeAmount,
    median_tokens: SomeAmount,
    first_token_p50_seconds: SomeAmount,
    first_token_p99_seconds: SomeAmount,
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
    turns: SomeCount,
    first_start_time: SomeTime,
    last_start_time: SomeTime,
    last_end_time: SomeTime,
    feedback_stats: Type.Optional(feedbackStatsSchema),
  },
  { title: "V2ThreadStatistics" },
);

export const v2ShareSchema = Type.Object({ share_token: Text });
export const maybeV2ShareSchema = Type.Object({ share_token: Type.Optional(Text) });

export const v2ProjectPageSchema = pageOf(v2ProjectSchema);
export const v2DatasetPageSchema = pageOf(v2DatasetSchema);
export const v2ExperimentRunPages = streamed(exampleWithRuns(v2RunSchema, "V2ExampleWithRuns"));

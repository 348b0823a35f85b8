import { Type } from "typebox";
import type { Static } from "typebox";
import {
  AnyObject,
  Anything,
  Count,
  CountOrNull,
  Flag,
  Id,
  IdOrNull,
  IsoTime,
  List,
  Nothing,
  Nullable,
  ObjectOrNull,
  Text,
  TextOrNull,
  TimeOrNull,
} from "../http/schema-parts.ts";
import { createRunSchema } from "../runs/run-schemas.ts";

/** An annotation queue in a response. */
export const queueSchema = Type.Object(
  {
    num_reviewers_per_item: CountOrNull,
    enable_reservations: Nullable(Flag),
    reservation_minutes: CountOrNull,
    reviewer_access_mode: TextOrNull,
    id: Id,
    tenant_id: Id,
    name: Text,
    description: TextOrNull,
    queue_type: Type.Literal("single"),
    default_dataset: IdOrNull,
    metadata: ObjectOrNull,
    rubric_instructions: TextOrNull,
    rubric_items: Nullable(List(AnyObject)),
    total_runs: Count,
    assigned_reviewers: List(Anything),
    source_rule_id: Nothing,
    run_rule_id: Nothing,
    created_at: IsoTime,
    updated_at: IsoTime,
  },
  { title: "AnnotationQueue" },
);

export type QueueJson = Static<typeof queueSchema>;
/** The response body of requests that list annotation queues. */
export const queueListSchema = List(queueSchema);

/** The queues that were deleted, and those that do not exist. */
export const deletedQueuesSchema = Type.Object(
  { deleted: List(Id), not_found: List(Id) },
  { title: "DeletedQueues" },
);

export const queueEntrySchema = Type.Object(
  {
    id: Id,
    queue_id: Id,
    run_id: Id,
    added_at: IsoTime,
    last_reviewed_time: TimeOrNull,
    source_proposed_example_id: Nothing,
  },
  { title: "QueueEntry" },
);

export type QueueEntryJson = Static<typeof queueEntrySchema>;
/** The response body after runs were added to a queue. */
export const queueEntryListSchema = List(queueEntrySchema);

/** A run with the members of its entry in a queue. */
export const queuedRunSchema = createRunSchema(
  {
    queue_run_id: Id,
    added_at: IsoTime,
    last_reviewed_time: TimeOrNull,
    effective_added_at: IsoTime,
    reserved_by: List(Id),
    completed_by: List(Id),
  },
  "QueuedRun",
);
/** The response body of requests that list the runs in a queue. */
export const queuedRunListSchema = List(queuedRunSchema);

/** The response body of requests that count the runs in a queue. */
export const queueSizeSchema = Type.Object({ size: Count });

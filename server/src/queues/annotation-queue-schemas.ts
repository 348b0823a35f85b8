import { Type } from "typebox";
import type { Static } from "typebox";
import { AnyObject, Id, IsoTime, List, Nullable } from "../http/schema-parts.ts";
import { runWith } from "../runs/run-schemas.ts";

export const queueSchema = Type.Object(
  {
    num_reviewers_per_item: Nullable(Type.Integer()),
    enable_reservations: Nullable(Type.Boolean()),
    reservation_minutes: Nullable(Type.Integer()),
    reviewer_access_mode: Nullable(Type.String()),
    id: Id,
    tenant_id: Id,
    name: Type.String(),
    description: Nullable(Type.String()),
    queue_type: Type.Literal("single"),
    default_dataset: Nullable(Id),
    metadata: Nullable(AnyObject),
    rubric_instructions: Nullable(Type.String()),
    rubric_items: Nullable(List(AnyObject)),
    total_runs: Type.Integer(),
    assigned_reviewers: List(Type.Unknown()),
    source_rule_id: Type.Null(),
    run_rule_id: Type.Null(),
    created_at: IsoTime,
    updated_at: IsoTime,
  },
  { title: "AnnotationQueue" },
);

export type QueueJson = Static<typeof queueSchema>;
export const queueListSchema = List(queueSchema);

/** The queues that were deleted, and those that do not exist. */
export const deletedQueuesSchema = Type.Object(
  { deleted: List(Id), not_found: List(Id) },
  { title: "DeletedQueues" },
);

/** The entry of a run in a queue. */
export const queueEntrySchema = Type.Object(
  {
    id: Id,
    queue_id: Id,
    run_id: Id,
    added_at: IsoTime,
    last_reviewed_time: Nullable(IsoTime),
    source_proposed_example_id: Type.Null(),
  },
  { title: "QueueEntry" },
);

export type QueueEntryJson = Static<typeof queueEntrySchema>;
export const queueEntryListSchema = List(queueEntrySchema);

/** A run with the members of its entry in a queue. */
export const queuedRunSchema = runWith(
  {
    queue_run_id: Id,
    added_at: IsoTime,
    last_reviewed_time: Nullable(IsoTime),
    effective_added_at: IsoTime,
    reserved_by: List(Id),
    completed_by: List(Id),
  },
  "QueuedRun",
);
export const queuedRunListSchema = List(queuedRunSchema);

export const queueSizeSchema = Type.Object({ size: Type.Integer() });

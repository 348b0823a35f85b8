import { Type } from "typebox";
import type { Static } from "typebox";
import { AnyObject, Id, IsoTime, List, Nullable, OneOf } from "../http/schema-parts.ts";
import { feedbackStatsSchema, projectStatisticsMembers } from "../runs/run-schemas.ts";

const projectMembers = {
  id: Id,
  tenant_id: Id,
  name: Type.String(),
  start_time: IsoTime,
  end_time: Nullable(IsoTime),
  description: Nullable(Type.String()),
  extra: Nullable(AnyObject),
  reference_dataset_id: Nullable(Id),
  default_dataset_id: Type.Null(),
};

export const projectSchema = Type.Object(projectMembers, { title: "Project" });
export type ProjectJson = Static<typeof projectSchema>;

const statisticsMembers = {
  ...projectStatisticsMembers,
  session_feedback_stats: feedbackStatsSchema,
};

const withStatsSchema = Type.Object({ ...projectMembers, ...statisticsMembers });
export type ProjectWithStatsJson = Static<typeof withStatsSchema>;

/** A project, and its statistics if the request asks for them. */
export const maybeWithStatsSchema = Type.Object(
  { ...projectMembers, ...Type.Partial(Type.Object(statisticsMembers)).properties },
  { title: "ProjectWithStatistics" },
);

export const projectListSchema = List(maybeWithStatsSchema);

export const deletedProjectsSchema = Type.Object({ session_ids: List(Id) });

/** The members of a project in the second version of the API, where the sums of costs are numbers. */
export const v2ProjectSchema = Type.Object(
  {
    ...maybeWithStatsSchema.properties,
    total_cost: Type.Optional(Nullable(Type.Number())),
    prompt_cost: Type.Optional(Nullable(Type.Number())),
    completion_cost: Type.Optional(Nullable(Type.Number())),
    type: OneOf(["PROJECT", "EXPERIMENT"]),
    trace_tier: Type.Null(),
  },
  { title: "V2Project" },
);

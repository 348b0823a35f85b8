import { Type } from "typebox";
import type { Static } from "typebox";
import {
  AmountOrNull,
  Id,
  IdOrNull,
  IsoTime,
  List,
  Nothing,
  ObjectOrNull,
  OneOf,
  Text,
  TextOrNull,
  TimeOrNull,
} from "../http/schema-parts.ts";
import { feedbackStatsSchema, projectStatisticsMembers } from "../runs/run-schemas.ts";

const projectMembers = {
  id: Id,
  tenant_id: Id,
  name: Text,
  start_time: IsoTime,
  end_time: TimeOrNull,
  description: TextOrNull,
  extra: ObjectOrNull,
  reference_dataset_id: IdOrNull,
  default_dataset_id: Nothing,
};

/** A project in a response. */
export const projectSchema = Type.Object(projectMembers, { title: "Project" });
export type ProjectJson = Static<typeof projectSchema>;

const withStatsSchema = Type.Object({
  ...projectMembers,
  ...projectStatisticsMembers,
  session_feedback_stats: feedbackStatsSchema,
});
export type ProjectWithStatsJson = Static<typeof withStatsSchema>;

/** A project whose statistics were not read, because reading those of the projects before it took too long. */
export interface ProjectWithoutStatsJson extends ProjectJson {
  readonly stats_complete: false;
}

/** `false` in a project whose statistics could not be read in time; absent in all others. */
const statsComplete = Type.Optional(Type.Literal(false));

/** A project, with its statistics if the request asks for them. */
export const projectMaybeWithStatsSchema = Type.Unsafe<
  ProjectJson | ProjectWithStatsJson | ProjectWithoutStatsJson
>({
  ...withStatsSchema,
  properties: { ...withStatsSchema.properties, stats_complete: statsComplete },
  title: "ProjectWithStatistics",
  required: Object.keys(projectMembers),
});

/** The response body of requests that list projects. */
export const projectListSchema = List(projectMaybeWithStatsSchema);

/** The response body after projects were deleted: their ids. */
export const deletedProjectsSchema = Type.Object({ session_ids: List(Id) });

/** A project in the second version of the API, in which the sums of costs are numbers. */
export const v2ProjectSchema = Type.Unsafe<unknown>({
  type: "object",
  properties: {
    ...withStatsSchema.properties,
    stats_complete: statsComplete,
    total_cost: AmountOrNull,
    prompt_cost: AmountOrNull,
    completion_cost: AmountOrNull,
    type: OneOf(["PROJECT", "EXPERIMENT"]),
    trace_tier: Nothing,
  },
  required: [...Object.keys(projectMembers), "type", "trace_tier"],
  title: "V2Project",
});

import { Fields, omitUndefined } from "../fields.ts";
import { parseRunStats } from "./run-stats.ts";
import type { RunStats } from "./run-stats.ts";
import type { KeyValues } from "../run.ts";

/** A group of runs. The wire format calls it a session. */
export interface Project {
  readonly id: string;
  /** The tenant that it belongs to. */
  readonly tenantId: string;
  readonly name: string;
  readonly description?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly startTime?: string | undefined;
  /** A time in ISO 8601 format; absent while the project is open. */
  readonly endTime?: string | undefined;
  /** Free-form; `metadata` is a member of it. */
  readonly extra: KeyValues;
  /** The dataset, if the project is an experiment. */
  readonly referenceDatasetId?: string | undefined;
  /** Present with `includeStats: true`. */
  readonly stats?: RunStats | undefined;
}

/** @throws {@link ResponseError} if `value` is not a project. */
export function parseProject(value: unknown): Project {
  const fields = new Fields(value, "project");
  return omitUndefined({
    id: fields.text("id"),
    tenantId: fields.text("tenant_id"),
    name: fields.text("name"),
    description: fields.optionalText("description"),
    startTime: fields.optionalText("start_time"),
    endTime: fields.optionalText("end_time"),
    extra: fields.object("extra"),
    referenceDatasetId: fields.optionalText("reference_dataset_id"),
    stats: fields.optionalNumber("run_count") === undefined ? undefined : parseRunStats(value),
  });
}

import { Fields, omitUndefined } from "../fields.ts";
import { parseRunStats } from "./run-stats.ts";
import type { RunStats } from "./run-stats.ts";
import type { KeyValues } from "../run.ts";

/** A group of runs. The wire format calls it a session. */
export interface Project {
  readonly id: string;
  /** Id of the tenant that owns the project. */
  readonly tenantId: string;
  readonly name: string;
  readonly description?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly startTime?: string | undefined;
  /** A time in ISO 8601 format; absent while the project is open. */
  readonly endTime?: string | undefined;
  /** Free-form data of the project, including the member `metadata`. */
  readonly extra: KeyValues;
  /** Id of the dataset that the project's runs were evaluated on; present if the project is an experiment. */
  readonly referenceDatasetId?: string | undefined;
  /** Statistics of the project's runs; present if they were requested with `includeStats: true`. */
  readonly stats?: RunStats | undefined;
}

/** @throws {@link ResponseError} if `value` is not a project. */
export function parseProject(value: unknown): Project {
  const fields = new Fields(value, "project");
  return omitUndefined({
    id: fields.readText("id"),
    tenantId: fields.readText("tenant_id"),
    name: fields.readText("name"),
    description: fields.readOptionalText("description"),
    startTime: fields.readOptionalText("start_time"),
    endTime: fields.readOptionalText("end_time"),
    extra: fields.readObject("extra"),
    referenceDatasetId: fields.readOptionalText("reference_dataset_id"),
    stats: fields.readOptionalNumber("run_count") === undefined ? undefined : parseRunStats(value),
  });
}

/** A project, which groups runs. */
export interface Project {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** Whether its runs are the results of an experiment on a dataset. */
  readonly isExperiment: boolean;
}

/** A project with its description and metadata. */
export interface ProjectDetails extends Project {
  /** Empty if the project has no description. */
  readonly description: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The object that contains `metadata`. A request that updates the metadata must contain the whole object. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** Statistics of a project's traces within a time range. */
export interface ProjectStats {
  readonly traceCount: number;
  /** Fraction of failed traces, from 0 to 1; absent if there are no traces. */
  readonly errorRate: number | undefined;
  readonly latencyP50Ms: number | undefined;
  readonly latencyP99Ms: number | undefined;
}

/** @throws TypeError `value` is not a list of projects. */
export function parseProjects(value: unknown): readonly Project[] {
  if (!Array.isArray(value)) {
    throw new TypeError("the server's response is not a list of projects");
  }
  return value.map(parseProject);
}

/** @throws TypeError `value` is not a project. */
export function parseProjectDetails(value: unknown): ProjectDetails {
  const { description, extra } = value as Readonly<Record<string, unknown>>;
  const extraMembers = toRecord(extra);
  return {
    ...parseProject(value),
    description: typeof description === "string" ? description : "",
    metadata: toRecord(extraMembers["metadata"]),
    extra: extraMembers,
  };
}

const toRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};

export function parseProjectStats(value: unknown): ProjectStats {
  const stats = value as Readonly<Record<string, unknown>>;
  return {
    traceCount: toNumber(stats["run_count"]) ?? 0,
    errorRate: toNumber(stats["error_rate"]),
    latencyP50Ms: toMilliseconds(stats["latency_p50"]),
    latencyP99Ms: toMilliseconds(stats["latency_p99"]),
  };
}

function parseProject(value: unknown): Project {
  const { id, tenant_id, name, reference_dataset_id } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof tenant_id !== "string" || typeof name !== "string") {
    throw new TypeError("the server's response contains a project without id, tenant or name");
  }
  return {
    id,
    tenantId: tenant_id,
    name,
    isExperiment: typeof reference_dataset_id === "string",
  };
}

const toNumber = (value: unknown): number | undefined =>
  typeof value === "number" ? value : undefined;

function toMilliseconds(value: unknown): number | undefined {
  const seconds = toNumber(value);
  return seconds === undefined ? undefined : seconds * 1_000;
}

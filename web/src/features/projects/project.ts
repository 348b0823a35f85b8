/** Where runs are filed. */
export interface Project {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
}

/** A project with what else is kept of it. */
export interface ProjectDetails extends Project {
  /** Empty where the project has none. */
  readonly description: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What the metadata are a part of. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** What a project's traces were like, within a time. Latencies are milliseconds. */
export interface ProjectStats {
  readonly traceCount: number;
  /** 0 to 1; absent without traces. */
  readonly errorRate: number | undefined;
  readonly latencyP50Ms: number | undefined;
  readonly latencyP99Ms: number | undefined;
}

/** @throws TypeError the server answered something else. */
export function parseProjects(value: unknown): readonly Project[] {
  if (!Array.isArray(value)) {
    throw new TypeError("the server's answer is no list of projects");
  }
  return value.map(parseProject);
}

/** @throws TypeError it is no project. */
export function parseProjectDetails(value: unknown): ProjectDetails {
  const { description, extra } = value as Readonly<Record<string, unknown>>;
  const kept = toRecord(extra);
  return {
    ...parseProject(value),
    description: typeof description === "string" ? description : "",
    metadata: toRecord(kept["metadata"]),
    extra: kept,
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
    latencyP50Ms: secondsToMs(stats["latency_p50"]),
    latencyP99Ms: secondsToMs(stats["latency_p99"]),
  };
}

function parseProject(value: unknown): Project {
  const { id, tenant_id, name } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof tenant_id !== "string" || typeof name !== "string") {
    throw new TypeError("the server's answer holds a project without id, tenant or name");
  }
  return { id, tenantId: tenant_id, name };
}

const toNumber = (value: unknown): number | undefined =>
  typeof value === "number" ? value : undefined;

function secondsToMs(value: unknown): number | undefined {
  const seconds = toNumber(value);
  return seconds === undefined ? undefined : seconds * 1_000;
}

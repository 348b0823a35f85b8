import type {
  Project,
  ProjectChanges,
  ProjectDraft,
  ProjectFate,
  ProjectQuery,
} from "./project.ts";
import type { IngestResult, RunBatch } from "./run-record.ts";
import type { StoredRun } from "./run-row.ts";

/** Which runs are meant. Every filter that is given must hold; lists mean any of. */
export interface RunFilter {
  readonly projectIds?: readonly string[];
  readonly ids?: readonly string[];
  readonly traceId?: string;
  readonly parentRunId?: string;
  readonly runType?: string;
  readonly referenceExampleIds?: readonly string[];
  readonly isRoot?: boolean;
  readonly hasError?: boolean;
  /** Started at or after. */
  readonly startMicros?: number;
  /** Started at or before. */
  readonly endMicros?: number;
  /** A part of the name or of the payload's JSON text; ASCII letters in either case. */
  readonly text?: string;
}

/** Where a page ended: the next one begins after this run. */
export interface RunPosition {
  readonly startMicros: number;
  readonly id: string;
}

export interface RunQuery {
  readonly filter: RunFilter;
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly after?: RunPosition;
  /** Whether descendants are listed too; costs a look-up for each run. */
  readonly withChildren: boolean;
}

export interface RunPage {
  readonly runs: readonly StoredRun[];
  /** Present when more follow. */
  readonly next?: RunPosition;
}

/** Durations in seconds; `null` where no run has ended. */
export interface RunStatistics {
  readonly runCount: number;
  readonly errorCount: number;
  readonly latencyP50: number | null;
  readonly latencyP99: number | null;
  readonly lastStartMicros: number | null;
}

/** Runs, as an engine keeps them. Every engine passes `tests/ingest-contract.ts` and `tests/query-contract.ts`. */
export interface RunStore {
  /** Resolves when the batch would survive the end of the process. */
  ingest(batch: RunBatch): Promise<IngestResult>;
  findRun(id: string): Promise<StoredRun | undefined>;
  queryRuns(query: RunQuery): Promise<RunPage>;
  runStatistics(filter: RunFilter): Promise<RunStatistics>;
  /** The token under which anyone may read the run; the same one when repeated. `undefined`: no such run. */
  shareRun(id: string): Promise<string | undefined>;
  unshareRun(id: string): Promise<void>;
  findSharedRun(token: string): Promise<StoredRun | undefined>;
}

/** What runs are filed under. Every engine passes `tests/project-contract.ts`. */
export interface CatalogStore {
  /** The one workspace of this server; made at first start. */
  readonly tenantId: string;
  /** When the workspace was made. Microseconds since the Unix epoch. */
  readonly tenantMicros: number;
  /** By name, ascending. */
  listProjects(query: ProjectQuery): Promise<readonly Project[]>;
  findProject(id: string): Promise<Project | undefined>;
  createProject(draft: ProjectDraft): Promise<ProjectFate>;
  updateProject(id: string, changes: ProjectChanges): Promise<ProjectFate>;
  /** Deletes its runs too. `false`: no such project. */
  deleteProject(id: string): Promise<boolean>;
}

/** An engine: both stores over one database. */
export interface Store extends RunStore, CatalogStore {
  /** Writes what is under way, then lets go of files and threads. May be called twice. */
  close(): Promise<void>;
}

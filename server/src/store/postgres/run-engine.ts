import type { FilteredFeedback } from "../../feedback/feedback.ts";
import type { StoredRunCosts } from "../../prices/price.ts";
import type { ProjectRuns } from "../../projects/project.ts";
import type { RuleRoots } from "../../rules/rule.ts";
import type { StoredBatch } from "../../runs/postgres/run-ingest.ts";
import type { RetentionEngine } from "../../runs/retention/retention.ts";
import type { PackedBatch, RunBatch } from "../../runs/run-record.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { Promised } from "../../storage/promised.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import type { Readers, Writers } from "../repositories.ts";

// The parts of the PostgreSQL store that read and write runs. Resources whose code is the same for every database
// engine are in `postgres-repositories.ts`.

/** The readers whose SQL is written for PostgreSQL. */
export type RunReaders = Promised<
  Pick<
    Readers,
    "experiments" | "metrics" | "runLists" | "runPages" | "runs" | "storage" | "threads" | "traces"
  >
>;

/** The parts of other readers that read runs. */
export interface RunReadParts {
  readonly filteredFeedback: FilteredFeedback;
  readonly roots: RuleRoots;
}

/** The parts of other writers that read or write runs. */
export interface RunWriteParts {
  readonly roots: RuleRoots;
  readonly retention: RetentionEngine;
  readonly projectRuns: ProjectRuns;
  readonly costs: StoredRunCosts;
}

/** What reading runs depends on. */
export interface RunReadDependencies {
  /** Reads the feedback on runs, for pages of runs and for threads. */
  readonly feedback: Readers["feedback"];
  readonly tokenCipher: TokenCipher;
  /** Throws if the query has exceeded its time limit. PostgreSQL itself limits each statement. */
  readonly checkLimit: () => void;
}

/** What writing runs depends on. */
export interface RunWriteDependencies {
  readonly tokenCipher: TokenCipher;
}

/**
 * Creates the objects that read and write runs on PostgreSQL. Each function gets the database of one connection and is
 * called once per connection, when it is opened; the returned objects are then used by one transaction after another,
 * never by two at once.
 *
 * Every call runs in a transaction for which `millrace.tenant` is the tenant of the call, and `*` for calls that
 * concern all tenants. Row-level security hides the rows of other tenants, and a column `tenant_id TEXT COLLATE "C" NOT
 * NULL DEFAULT current_setting('millrace.tenant')` gets its value from the setting. Every query has a condition on the
 * tenant nevertheless.
 *
 * - Ids are not replaced by keys, as they are on SQLite: each key of a table begins with the tenant.
 * - The queries of shares, feedback and queues join a table or view `runs` with the columns `tenant_id`, `trace_id`,
 *   `id`, `project_id`, `parent_run_id`, `name`, `run_type`, `start_us`, `end_us` and `has_error` (0 or 1) by its `id`.
 * - A call with the token of a share is run for the tenant to which the token belongs.
 * - Reads run in read-only transactions of level READ COMMITTED, whose statements have a time limit.
 * - Writes of one tenant run one after the other (an advisory lock), as they do on the writer thread of SQLite. Ingest
 *   does not take this lock: it runs at level READ COMMITTED, with several batches of a tenant at once, in several
 *   processes. A transaction that fails because of a deadlock, a serialization failure or a lost connection before its
 *   commit runs again from its beginning, up to a few times; caches that were changed by a failed transaction must be
 *   dropped in `clearCaches`, which is called after each rollback.
 */
export interface RunEngine {
  /**
   * SQL that creates the tables of runs, in the order of the formats. Entries are only appended. Tables with a
   * `tenant_id` get the policies of row-level security afterwards.
   */
  readonly tables: readonly string[];
  createReaders(db: PostgresDatabase, dependencies: RunReadDependencies): RunReaders;
  createReadParts(db: PostgresDatabase): RunReadParts;
  createWriter(db: PostgresDatabase, dependencies: RunWriteDependencies): RunEngineWriter;
  /** Work that one process at a time repeats in a thread of its own, such as counting metrics. */
  readonly backgroundTasks: readonly BackgroundTask[];
}

/** Work on the stored runs that is done in small steps, with pauses between them. */
export interface BackgroundTask {
  /** Length of the pause after a step, as a multiple of the step's duration. */
  readonly pauseFactor: number;
  /**
   * Creates a function that performs one step on a connection. A step runs in a transaction for all tenants, and
   * resolves to whether more work is waiting.
   */
  createStep(db: PostgresDatabase): () => Promise<boolean>;
}

/** Writes runs to PostgreSQL. */
export interface RunEngineWriter extends RunWriteParts {
  readonly runs: Promised<Pick<Writers, "runs">>["runs"];
  /** Stores a batch in the transaction of the caller. */
  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<StoredBatch>;
  clearCaches(): void;
  /**
   * Creates and drops partitions. One process at a time calls this from time to time, in a transaction for all tenants.
   * Returns whether it should be called again soon.
   */
  maintain(): Promise<boolean>;
}

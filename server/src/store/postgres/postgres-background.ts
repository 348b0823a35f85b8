import { messageOf } from "../../model/errors.ts";
import type { PostgresConnection } from "../../storage/postgres/postgres-connection.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { SessionPool } from "../../storage/postgres/session-pool.ts";
import type { PooledSession } from "../../storage/postgres/session-pool.ts";
import { allTenants } from "../../storage/postgres/tenant-policies.ts";
import { runTransaction } from "../../storage/postgres/transaction.ts";
import { postgresLimits, toPoolLimits } from "./postgres-limits.ts";
import type { BackgroundTask, RunEngine } from "./run-engine.ts";

/** After a failed step, the pause is longer by this factor. */
const failureFactor = 30;

export interface BackgroundOptions {
  readonly connect: () => Promise<PostgresConnection>;
  readonly tasks: RunEngine["backgroundTasks"];
  /** Called with the reason when a step has failed. The step is tried again later. */
  readonly onFailure: (reason: string) => void;
}

/**
 * Repeats the tasks that only the leader, one of the servers of a database, performs. Each task has a connection and
 * pauses of its own, so that none waits until another has nothing left to do.
 */
export class PostgresBackground {
  readonly #loops: readonly TaskLoop[];

  constructor({ connect, tasks, onFailure }: BackgroundOptions) {
    this.#loops = tasks.map((task) => new TaskLoop(task, connect, onFailure));
  }

  /** Starts or stops the tasks. A running step is completed. */
  setLeader(isLeader: boolean): void {
    this.#loops.forEach((loop) => loop.setActive(isLeader));
  }

  /** Completes the running steps and closes the connections. */
  async close(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.close()));
  }
}

/** A connection with the work of one task. */
class TaskSession implements PooledSession {
  readonly #connection: PostgresConnection;
  readonly #step: () => Promise<boolean>;

  constructor(connection: PostgresConnection, task: BackgroundTask) {
    this.#connection = connection;
    this.#step = task.createStep(new PostgresDatabase(connection));
  }

  get isUsable(): boolean {
    return this.#connection.isUsable;
  }

  runStep(): Promise<boolean> {
    const { writeStatementMs: statementMs, lockMs } = postgresLimits;
    const options = { tenant: allTenants, isReadOnly: false, statementMs, lockMs, locks: [] };
    return runTransaction(this.#connection, options, this.#step);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

/** Repeats the steps of one task. */
class TaskLoop {
  readonly #task: BackgroundTask;
  readonly #sessions: SessionPool<TaskSession>;
  readonly #onFailure: (reason: string) => void;
  #isActive = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(
    task: BackgroundTask,
    connect: () => Promise<PostgresConnection>,
    onFailure: (reason: string) => void,
  ) {
    this.#task = task;
    this.#onFailure = onFailure;
    this.#sessions = new SessionPool(
      async () => new TaskSession(await connect(), task),
      toPoolLimits(1),
    );
  }

  setActive(isActive: boolean): void {
    if (isActive && !this.#isActive && this.#running === undefined) {
      this.#schedule(postgresLimits.maintainMs);
    }
    this.#isActive = isActive;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#sessions.close();
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, delayMs);
  }

  async #run(): Promise<void> {
    let delayMs: number = postgresLimits.maintainMs;
    if (this.#isActive) {
      const startMs = performance.now();
      try {
        const hasMore = await this.#sessions.use((session) => session.runStep());
        delayMs = hasMore ? (performance.now() - startMs) * this.#task.pauseFactor : delayMs;
      } catch (cause) {
        delayMs *= failureFactor;
        if (!this.#isClosed) {
          this.#onFailure(messageOf(cause));
        }
      }
    }
    this.#running = undefined;
    if (this.#isActive && !this.#isClosed) {
      this.#schedule(delayMs);
    }
  }
}

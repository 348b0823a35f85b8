import type { Readers } from "./repositories.ts";
import type { Connection, Statement } from "../storage/sqlite/connection.ts";
import type { ResourceCall } from "../storage/thread-reply.ts";

/** A read whose result is known without a query while a table is empty. */
interface IdleRead {
  /** The table whose rows are read. */
  readonly table: string;
  /** The result while the table is empty. */
  readonly answer: unknown;
}

/** The reads that the server repeats to find out whether it has background work to do. */
const idleReads: Readonly<Record<string, IdleRead>> = {
  "alerts.listActive": { table: "alerts", answer: [] },
  "jobs.hasActive": { table: "jobs", answer: false },
  "rules.listActive": { table: "rules", answer: [] },
  "webhooks.listDue": { table: "webhook_deliveries", answer: { due: [], nextMicros: null } },
};

/**
 * Answers the reads of `idleReads` on the calling thread while their tables are empty, which takes a few microseconds.
 * A server without jobs, rules, alerts and webhooks then needs no reader thread until somebody queries it.
 */
export class IdleReads {
  readonly #db: Connection;
  readonly #statements = new Map<string, Statement>();

  constructor(db: Connection) {
    this.#db = db;
  }

  /** Returns the answer to a call, or `undefined` if a reader thread must read it. */
  find({ resource, method }: ResourceCall<Readers>): { readonly answer: unknown } | undefined {
    const name = `${resource}.${method}`;
    const read = Object.hasOwn(idleReads, name) ? idleReads[name] : undefined;
    return read === undefined || this.#hasRows(read.table) ? undefined : read;
  }

  #hasRows(table: string): boolean {
    const statement =
      this.#statements.get(table) ?? this.#db.prepare(`SELECT 1 FROM ${table} LIMIT 1`);
    this.#statements.set(table, statement);
    return statement.all().length > 0;
  }
}

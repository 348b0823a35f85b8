import { PGlite } from "@electric-sql/pglite";
import type { PostgresClient } from "../../src/storage/postgres/postgres-client.ts";

/** The types whose values the driver `pg` returns as numbers: `int8` and `numeric`. */
const parsers = { 20: Number, 1700: Number };

/** A connection to PostgreSQL that is compiled to WebAssembly. */
export class PgliteClient implements PostgresClient {
  readonly #db: PGlite;

  private constructor(db: PGlite) {
    this.#db = db;
  }

  static async open(): Promise<PgliteClient> {
    return new PgliteClient(await PGlite.create());
  }

  async run({ text, values }: Parameters<PostgresClient["run"]>[0]) {
    const { rows, affectedRows = 0 } = await this.#db.query<Readonly<Record<string, unknown>>>(
      text,
      [...values],
      { parsers },
    );
    return { rows, count: rows.length === 0 ? affectedRows : rows.length };
  }

  async exec(sql: string): Promise<void> {
    await this.#db.exec(sql);
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

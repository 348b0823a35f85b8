import { postColumns, postIndexes } from "./post-rows.ts";
import { unmeasured } from "./run-columns.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/**
 * Forms of the rows that a statement inserts. All `usual` rows of a statement belong to one project, have no measures
 * and refer to no example. They need half as many parameters as other rows, and binding a parameter takes as long as
 * storing a column.
 */
export type PostForm = "usual" | "any";

interface RowForm {
  /** Indexes of the values that are bound for each row, in this order. */
  readonly indexes: readonly number[];
  /** Whether the project is bound once for all rows instead of for each row. */
  readonly sharesProject: boolean;
}

const { project, referenceExampleId, measures } = postIndexes;
const allIndexes = postColumns.map((_name, index) => index);

export const postForms: { readonly [Form in PostForm]: RowForm } = {
  usual: {
    indexes: allIndexes.filter(
      (index) => index !== project && index !== referenceExampleId && index < measures,
    ),
    sharesProject: true,
  },
  any: { indexes: allIndexes, sharesProject: false },
};

type Statement = ReturnType<Connection["prepare"]>;

/** Statements that insert many rows each. They are prepared on first use. */
export class PostStatements {
  readonly #db: Connection;
  readonly #statements = new Map<string, Statement>();

  constructor(db: Connection) {
    this.#db = db;
  }

  /**
   * Prepares the statement that inserts rows into `runs`. If one of the runs exists already, the statement fails and
   * inserts nothing.
   */
  prepareRows(form: PostForm, count: number): Statement {
    return this.#prepare(`${form} ${count}`, () => createInsertSql(postForms[form], count));
  }

  /**
   * Prepares the statement that inserts payloads. Parameters of each payload: trace id, run id, payload and checksum.
   */
  preparePayloads(count: number): Statement {
    const rowPlaceholders = "(?, ?, '', CAST(? AS TEXT), ?)";
    return this.#prepare(`payloads ${count}`, () => {
      const rows = Array.from({ length: count }, () => rowPlaceholders).join(", ");
      return `INSERT OR IGNORE INTO payloads (trace_id, id, digest, body, checksum) VALUES ${rows}`;
    });
  }

  #prepare(key: string, createSql: () => string): Statement {
    const cached = this.#statements.get(key);
    if (cached !== undefined) {
      return cached;
    }
    const statement = this.#db.prepare(createSql());
    this.#statements.set(key, statement);
    return statement;
  }
}

function createInsertSql({ indexes, sharesProject }: RowForm, count: number): string {
  const columns = indexes.map((index) => postColumns[index]).join(", ");
  const sharedColumns = sharesProject ? "project_id, measured, " : "";
  // Only the shared parameter is numbered: for each numbered parameter, SQLite searches all other numbered ones.
  const rowPlaceholders = `(${sharesProject ? `?1, ${unmeasured}, ` : ""}1, 0, ${indexes.map(() => "?").join(", ")})`;
  const rows = Array.from({ length: count }, () => rowPlaceholders).join(", ");
  return `INSERT INTO runs (${sharedColumns}posted, patched, ${columns}) VALUES ${rows}`;
}

import { postColumns, postPlaces } from "./post-rows.ts";
import { unmeasured } from "./row.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/**
 * What rows a statement takes. A usual one is of the project that all rows of its statement are of, has
 * no measures and names no example: it needs half as many values, and a value costs what a column does.
 */
export type PostForm = "usual" | "any";

interface FormOfRows {
  /** Where in a post stands what is given of each row, in this order. */
  readonly places: readonly number[];
  /** Whether the project is given once, before all rows, and not with each. */
  readonly sharesProject: boolean;
}

const { project, referenceExampleId, measures } = postPlaces;
const allPlaces = postColumns.map((_name, place) => place);

export const postForms: { readonly [Form in PostForm]: FormOfRows } = {
  usual: {
    places: allPlaces.filter(
      (place) => place !== project && place !== referenceExampleId && place < measures,
    ),
    sharesProject: true,
  },
  any: { places: allPlaces, sharesProject: false },
};

type Statement = ReturnType<Connection["prepare"]>;

/** Statements that write many rows each, prepared when they are first needed. */
export class PostStatements {
  readonly #db: Connection;
  readonly #statements = new Map<string, Statement>();

  constructor(db: Connection) {
    this.#db = db;
  }

  /** Fails, and writes nothing, where one of the rows was written before. */
  rows(form: PostForm, count: number): Statement {
    return this.#prepared(`${form} ${count}`, () => insertRows(postForms[form], count));
  }

  /** For each the ids of its trace and of its run, the payload and its checksum. */
  payloads(count: number): Statement {
    const row = "(?, ?, '', CAST(? AS TEXT), ?)";
    return this.#prepared(`payloads ${count}`, () => {
      const rows = Array.from({ length: count }, () => row).join(", ");
      return `INSERT OR IGNORE INTO payloads (trace_id, id, digest, body, checksum) VALUES ${rows}`;
    });
  }

  #prepared(key: string, makeSql: () => string): Statement {
    const known = this.#statements.get(key);
    if (known !== undefined) {
      return known;
    }
    const made = this.#db.prepare(makeSql());
    this.#statements.set(key, made);
    return made;
  }
}

function insertRows({ places, sharesProject }: FormOfRows, count: number): string {
  const columns = places.map((place) => postColumns[place]).join(", ");
  const shared = sharesProject ? "project_id, measured, " : "";
  // Only the shared one has a number: the engines look each numbered one up among all that are.
  const row = `(${sharesProject ? `?1, ${unmeasured}, ` : ""}1, 0, ${places.map(() => "?").join(", ")})`;
  const rows = Array.from({ length: count }, () => row).join(", ");
  return `INSERT INTO runs (${shared}posted, patched, ${columns}) VALUES ${rows}`;
}

import type { Expression } from "kysely";
import { sql } from "kysely";
import type { CheckedFilter } from "../../../filter/checker.ts";
import { RequestError } from "../../../model/errors.ts";
import { toParameters } from "../../../storage/query.ts";
import type { Database } from "../../../storage/query.ts";
import type { ScopeValues } from "../example-conditions.ts";
import type { ExampleTextSearch } from "../example-engine.ts";
import { buildSearch } from "../example-queries.ts";
import type { ExampleRow } from "../example-queries.ts";

/** Searches examples with PostgreSQL's full-text search. */
export class PostgresExampleSearch implements ExampleTextSearch {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** @throws RequestError 501: filter expressions are compiled to SQLite's SQL only. */
  compile(_filter: CheckedFilter): Expression<boolean> {
    throw new RequestError(
      501,
      "filter expressions on examples are not available with the PostgreSQL store yet: filter by metadata, splits or full text instead",
    );
  }

  match(
    scope: ScopeValues,
    { conditions, terms, limit }: Parameters<ExampleTextSearch["match"]>[1],
  ): Promise<readonly ExampleRow[]> {
    // In quotes a term can't be an operator. It contains only letters, digits and marks, so it needs no escaping.
    const query = terms.map((term) => `'${term}'`).join(" | ");
    const words = sql`to_tsquery('simple', ${query})`;
    return this.#db.all(
      buildSearch(toParameters(scope), conditions)
        .innerJoin(sql`example_texts`.as("t"), (join) =>
          join.on(
            sql<boolean>`t.key = e.key AND t.tenant_id = e.tenant_id AND t.words @@ ${words}`,
          ),
        )
        .orderBy(sql`ts_rank_cd(t.words, ${words})`, "desc")
        .orderBy("e.position")
        .limit(limit),
    );
  }
}

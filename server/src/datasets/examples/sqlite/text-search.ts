import type { ExampleTextSearch } from "../example-engine.ts";
import type { Expression } from "kysely";
import { sql } from "kysely";
import type { CheckedFilter } from "../../../filter/checker.ts";
import { fillPlaceholders } from "../../../storage/dialect.ts";
import { toParameters } from "../../../storage/query.ts";
import type { Database } from "../../../storage/query.ts";
import type { ScopeValues } from "../example-conditions.ts";
import { compileExampleFilter } from "../search/example-filter-source.ts";
import { buildSearch } from "../example-queries.ts";
import type { ExampleRow } from "../example-queries.ts";

/** Searches examples with SQLite's full-text index, and compiles filter expressions to SQLite's SQL. */
export class SqliteExampleSearch implements ExampleTextSearch {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  compile(filter: CheckedFilter): Expression<boolean> {
    const { sql: text, values } = compileExampleFilter(filter, "sqlite");
    return fillPlaceholders(text, values);
  }

  match(
    scope: ScopeValues,
    { conditions, terms, limit }: Parameters<ExampleTextSearch["match"]>[1],
  ): Promise<readonly ExampleRow[]> {
    // In quotes a term can't be an operator. It contains only letters, digits and marks, so it needs no escaping.
    const query = terms.map((term) => `"${term}"`).join(" OR ");
    return this.#db.all(
      buildSearch(toParameters(scope), conditions)
        .innerJoin(sql`example_texts`.as("t"), (join) =>
          join.on(sql<boolean>`t.rowid = e.key AND t.text MATCH ${query}`),
        )
        .orderBy(sql`bm25(example_texts)`)
        .orderBy("e.position")
        .limit(limit),
    );
  }
}

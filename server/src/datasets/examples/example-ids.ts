import { sql } from "kysely";
import type { Expression, Generated } from "kysely";
import { fillPlaceholders, isInList, perEngine } from "../../storage/dialect.ts";
import { createQueryBuilder } from "../../storage/query.ts";
import { keysOfId, keysOfIds } from "./sqlite/example-places.ts";

/** The columns of a row of an example: the example in some of its versions. */
export interface ExampleTable {
  readonly key: number;
  readonly position: number;
  readonly tenant_id: string;
  readonly dataset_id: string;
  readonly id: string;
  readonly created_us: number;
  readonly from_us: number;
  readonly to_us: number | null;
  readonly source_run_id: string | null;
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
  /** JSON; null if the example has no files. */
  readonly attachments: string | null;
}

export interface ExampleFileTable {
  readonly key: Generated<number>;
  readonly tenant_id: string;
  readonly dataset_id: string;
  readonly example_id: string;
  readonly bytes: Uint8Array;
  readonly checksum: number | null;
}

export interface ExampleTables {
  readonly examples: ExampleTable;
  readonly example_blobs: ExampleFileTable;
}

/**
 * Whether the row `e` has an id. SQLite finds the rows of an id by an index of its own, which may contain rows of other
 * ids too.
 */
const hasId = (id: Expression<string>): Expression<boolean> =>
  perEngine<boolean>({
    sqlite: fillAll(`e.key IN (${keysOfId("?")}) AND e.id = ?`, id),
    postgres: sql`e.id = ${id}`,
  });

/** Whether the row `e` has one of the ids of a JSON list; see {@link hasId}. */
export const hasOneOfIds = (ids: Expression<string>): Expression<boolean> =>
  perEngine<boolean>({
    sqlite: fillAll(
      `e.key IN (${keysOfIds("?")}) AND e.id IN (SELECT value FROM json_each(?))`,
      ids,
    ),
    postgres: isInList(sql.ref<string>("e.id"), ids),
  });

const fillAll = (text: string, operand: Expression<string>): Expression<boolean> =>
  fillPlaceholders(text, Array<Expression<string>>(text.split("?").length - 1).fill(operand));

/** The rows `e` of all versions of an example. */
export const rowsOfExample = (id: Expression<string>) =>
  createQueryBuilder<ExampleTables>().selectFrom("examples as e").where(hasId(id));

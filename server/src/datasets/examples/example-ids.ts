import { sql } from "kysely";
import type { Expression, Generated } from "kysely";
import { fillPlaceholders, isInList, perEngine } from "../../storage/dialect.ts";
import { createQueryBuilder } from "../../storage/query.ts";
import { selectKeysOfId, selectKeysOfIds } from "./sqlite/example-places.ts";

/**
 * The columns of the table `examples`. A row holds the content that an example has in one or more consecutive versions
 * of its dataset: those from the time `from_us` up to, but not including, `to_us`.
 */
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
  /** JSON list of attachments; null if the example has none. */
  readonly attachments: string | null;
}

/** The columns of the table `example_blobs`. A row holds the bytes of an attachment. */
export interface ExampleFileTable {
  readonly key: Generated<number>;
  readonly tenant_id: string;
  readonly dataset_id: string;
  readonly example_id: string;
  readonly bytes: Uint8Array;
  readonly checksum: number | null;
}

/** The tables of examples and of their attachments. */
export interface ExampleTables {
  readonly examples: ExampleTable;
  readonly example_blobs: ExampleFileTable;
}

/**
 * Whether the row `e` has this id. For SQLite, the server maintains an index that contains only a part of each id. It
 * may find rows with other ids, too, so the condition also compares the whole id.
 */
const hasId = (id: Expression<string>): Expression<boolean> =>
  perEngine<boolean>({
    sqlite: fillEachPlaceholder(`e.key IN (${selectKeysOfId("?")}) AND e.id = ?`, id),
    postgres: sql`e.id = ${id}`,
  });

/** Whether the row `e` has one of the ids in a JSON list; see {@link hasId}. */
export const hasOneOfIds = (ids: Expression<string>): Expression<boolean> =>
  perEngine<boolean>({
    sqlite: fillEachPlaceholder(
      `e.key IN (${selectKeysOfIds("?")}) AND e.id IN (SELECT value FROM json_each(?))`,
      ids,
    ),
    postgres: isInList(sql.ref<string>("e.id"), ids),
  });

/** Builds a condition in which the operand takes the place of every `?`. */
const fillEachPlaceholder = (text: string, operand: Expression<string>): Expression<boolean> =>
  fillPlaceholders(text, Array<Expression<string>>(text.split("?").length - 1).fill(operand));

/** Starts a query that selects from the rows of all versions of an example. The rows have the alias `e`. */
export const selectRowsOfExample = (id: Expression<string>) =>
  createQueryBuilder<ExampleTables>().selectFrom("examples as e").where(hasId(id));

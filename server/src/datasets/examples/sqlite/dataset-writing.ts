import { SqliteDatasetVersions } from "./dataset-versions.ts";
import { SqliteExampleTextIndex } from "./example-index.ts";
import { SqliteExampleRows } from "./example-rows.ts";
import type { CurrentAuthor } from "../../version-author.ts";
import { SchemaChecks } from "../schemas/schema-checks.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import type { TenantKeyWriter } from "../../../storage/sqlite/tenant-keys.ts";

/**
 * The dependencies of all classes that write datasets and examples. Create them once per connection, because
 * `exampleRows` assigns the keys of new rows.
 */
export interface DatasetWriteDependencies {
  readonly db: Connection;
  readonly keys: TenantKeyWriter;
  readonly versions: SqliteDatasetVersions;
  readonly exampleRows: SqliteExampleRows;
  readonly textIndex: SqliteExampleTextIndex;
  readonly schemaChecks: SchemaChecks;
  readonly author: CurrentAuthor;
}

export const createDatasetWriteDependencies = (
  db: Connection,
  keys: TenantKeyWriter,
  author: CurrentAuthor,
): DatasetWriteDependencies => ({
  db,
  keys,
  author,
  versions: new SqliteDatasetVersions(db, author),
  exampleRows: new SqliteExampleRows(db, keys),
  textIndex: new SqliteExampleTextIndex(db),
  schemaChecks: new SchemaChecks(),
});

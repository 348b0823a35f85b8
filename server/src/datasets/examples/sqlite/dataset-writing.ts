import { SqliteDatasetVersions } from "./dataset-versions.ts";
import { ExampleIndex } from "./example-index.ts";
import { ExampleTable } from "./example-table.ts";
import { SchemaChecks } from "../schemas/schema-checks.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import type { TenantKeyWriter } from "../../../storage/sqlite/tenant-keys.ts";

/**
 * Shared dependencies of the classes that write examples. Create one instance per connection, because it
 * assigns the keys of new rows.
 */
export interface DatasetWriteDependencies {
  readonly db: Connection;
  readonly keys: TenantKeyWriter;
  readonly versions: SqliteDatasetVersions;
  readonly table: ExampleTable;
  readonly index: ExampleIndex;
  readonly schemas: SchemaChecks;
}

export const createDatasetWriteDependencies = (
  db: Connection,
  keys: TenantKeyWriter,
): DatasetWriteDependencies => ({
  db,
  keys,
  versions: new SqliteDatasetVersions(db),
  table: new ExampleTable(db, keys),
  index: new ExampleIndex(db),
  schemas: new SchemaChecks(),
});

import { DatasetLedger } from "./dataset-ledger.ts";
import { ExampleIndex } from "./examples/sqlite/example-index.ts";
import { ExampleTable } from "./examples/sqlite/example-table.ts";
import { SchemaProofs } from "./examples/sqlite/schema-proofs.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import type { TenantKeyWriter } from "../storage/sqlite/tenant-keys.ts";

/** What all that writes datasets and examples works with. One for a connection: it gives out keys. */
export interface DatasetWriting {
  readonly db: Connection;
  readonly keys: TenantKeyWriter;
  readonly ledger: DatasetLedger;
  readonly table: ExampleTable;
  readonly index: ExampleIndex;
  readonly schemas: SchemaProofs;
}

export const createDatasetWriting = (db: Connection, keys: TenantKeyWriter): DatasetWriting => ({
  db,
  keys,
  ledger: new DatasetLedger(db),
  table: new ExampleTable(db),
  index: new ExampleIndex(db),
  schemas: new SchemaProofs(),
});

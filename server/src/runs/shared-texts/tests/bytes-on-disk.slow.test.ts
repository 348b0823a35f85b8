import { join } from "node:path";
import { statSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createWriters } from "../../../store/repositories.ts";
import { openWriter } from "../../../store/schema.ts";
import { loadLibraryPrices } from "../../../prices/library-prices.ts";
import { readDefaultTenantId } from "../../../storage/sqlite/open-database.ts";
import {
  createConversation,
  createConversationBatches,
} from "../../../../tests/support/long-conversation.ts";
import { openPglite, openRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PgliteClient } from "../../../../tests/support/repository-engines.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";
import type { RunBatch } from "../../run-record.ts";

await loadLibraryPrices();

const turns = 200;
const maxShare = 0.1;

/** One batch for each turn; without shareable texts, the store stores each payload as a whole. */
function createBatches(tenantId: string, isShared: boolean): readonly RunBatch[] {
  return createConversationBatches(tenantId, createConversation(turns)).map((batch) =>
    isShared
      ? batch
      : { ...batch, records: batch.records.map((record) => ({ ...record, shareable: undefined })) },
  );
}

test("a conversation of 200 turns takes at most a tenth of the bytes on disk in SQLite", async () => {
  const measure = async (isShared: boolean): Promise<number> => {
    const file = join(await temporaryFolder(), "runs.db");
    const db = openWriter(file);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const bytesBefore = statSync(file).size;
    const { runs } = createWriters(db);
    for (const batch of createBatches(readDefaultTenantId(db), isShared)) {
      runs.apply(readDefaultTenantId(db), batch);
    }
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
    return statSync(file).size - bytesBefore;
  };
  const [shared, whole] = [await measure(true), await measure(false)];
  expect(whole).toBeGreaterThan(20_000_000);
  expect(shared / whole).toBeLessThan(maxShare);
}, 120_000);

let client: PgliteClient;
beforeAll(async () => {
  client = await openPglite();
}, 60_000);
afterAll(() => client.close());

test("a conversation of 200 turns takes at most a tenth of the bytes on disk in PostgreSQL", async () => {
  const store = openRunStore(client);
  const measure = async (): Promise<number> => {
    const { rows } = await client.run({
      text: `SELECT sum(pg_total_relation_size(c.oid))::bigint AS bytes FROM pg_class c
        WHERE c.relkind = 'r' AND c.relname ~ '^(runs|payloads|run_keys|shared_text)'`,
      values: [],
    });
    return Number(rows[0]?.["bytes"]);
  };
  const store200 = async (isShared: boolean): Promise<number> => {
    const before = await measure();
    for (const batch of createBatches(store.defaultTenantId, isShared)) {
      await store.ingest(store.defaultTenantId, batch);
    }
    return (await measure()) - before;
  };
  const [shared, whole] = [await store200(true), await store200(false)];
  expect(whole).toBeGreaterThan(10_000_000);
  expect(shared / whole).toBeLessThan(maxShare);
}, 120_000);

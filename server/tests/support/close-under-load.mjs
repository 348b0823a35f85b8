// Repeatedly opens and closes a store while its threads run queries, writes and the text index. The last query of the
// last turn can't be canceled for seconds.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseBatch } from "../../dist/runs/ingest/parse-batch.js";
import { serverLimits } from "../../dist/model/options.js";
import { openSecondWriter } from "../../dist/store/schema.js";
import { databaseFileName } from "../../dist/storage/sqlite/open-database.js";
import { openSqliteStore } from "../../dist/store/sqlite-store.js";

const [folder, turns] = process.argv.slice(2);
// The text index starts at once, not after a second.
serverLimits.textIndexDelayMs = 0;

const stamp = "20261121T101112345678Z";
const batchOf = (count) =>
  parseBatch(
    Buffer.from(
      JSON.stringify({
        post: Array.from({ length: count }, () => {
          const id = randomUUID();
          return {
            id,
            trace_id: id,
            dotted_order: stamp + id,
            name: `run ${id}`,
            run_type: "chain",
            inputs: { text: `${randomUUID()} `.repeat(80) },
          };
        }),
      }),
    ),
  ).batch;

let answered = 0;
let ended = 0;
for (let turn = 1; turn <= Number(turns); turn += 1) {
  const store = await openSqliteStore(folder);
  const tenantId = store.defaultTenantId;
  await store.ingest(tenantId, batchOf(100));
  const query = (text) =>
    store.read.runs
      .query(tenantId, { filter: { text }, order: "desc", limit: 1_000, withChildren: true })
      .then(
        () => (answered += 1),
        () => (ended += 1),
      );
  // The reader threads are running; now they get more queries than they can finish before the store closes.
  await Promise.all([query("no run has it"), query("neither this")]);
  const isLast = turn === Number(turns);
  const waiting = isLast ? [readSlowly(store)] : Array.from({ length: 6 }, () => query("no"));
  waiting.push(...Array.from({ length: 3 }, () => store.ingest(tenantId, batchOf(50))));
  // Each turn closes the store at a different moment.
  await setTimeout(isLast ? 500 : turn * 4);
  await store.close();
  await Promise.all(waiting);
}
process.stdout.write(`${JSON.stringify({ answered, ended })}\n`);

/** Reads a table that was replaced by a view which takes seconds and never checks the deadline. */
function readSlowly(store) {
  const db = openSecondWriter(join(folder, databaseFileName));
  db.exec(`ALTER TABLE settings RENAME TO former; CREATE VIEW settings AS
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 12000000)
    SELECT 'retention/${store.defaultTenantId}' || substr('', max(n)) AS key, '1' AS value FROM numbers`);
  db.close();
  return store.read.retention.list(store.defaultTenantId).catch(() => (ended += 1));
}

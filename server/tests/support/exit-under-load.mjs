// Exits the process during a slow query, without closing the server.
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { startServer } from "@millrace/server";
import { openSecondWriter } from "../../dist/store/schema.js";
import { databaseFileName } from "../../dist/storage/sqlite/open-database.js";

const [folder] = process.argv.slice(2);
const server = await startServer({ port: 0, dataDir: folder });
const id = crypto.randomUUID();
const run = { id, name: "kept", run_type: "chain" };
const headers = { "content-type": "application/json" };
const answer = await fetch(`${server.url}/runs`, {
  method: "POST",
  headers,
  body: JSON.stringify(run),
});
const db = openSecondWriter(join(folder, databaseFileName));
const [[tenantId]] = db.prepare("SELECT value FROM settings WHERE key = 'tenant_id'").raw().all();
db.exec(`ALTER TABLE settings RENAME TO former; CREATE VIEW settings AS
  WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 6000000)
  SELECT 'retention/${tenantId}' || substr('', max(n)) AS key, '1' AS value FROM numbers`);
db.close();
void fetch(`${server.url}/ui/retention`).catch(() => undefined);
await setTimeout(500);
process.stdout.write(String(answer.status));
process.exit(3);

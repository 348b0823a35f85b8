// On the small disk that is mounted at a folder: tries to delete a run that is larger than the space reserved for
// deletions.
import { randomBytes, randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseBatch } from "../../dist/runs/ingest/parse-batch.js";
import { openSqliteStore } from "../../dist/store/sqlite-store.js";

const [disk] = process.argv.slice(2);
const filler = join(disk, "filler");
const store = await openSqliteStore(join(disk, "data"));
const tenantId = store.defaultTenantId;
const id = randomUUID();
const text = randomBytes(3_000_000).toString("hex");
const place = { id, trace_id: id, dotted_order: `20261121T101112345678Z${id}`, session_name: "p" };
const post = [{ ...place, name: "large", run_type: "chain", inputs: { text } }];
await store.ingest(tenantId, parseBatch(Buffer.from(JSON.stringify({ post }))).batch);
const { projectId } = (await store.read.runs.find(tenantId, id)).row;

for (const bytes of [1_048_576, 65_536, 4_096]) {
  for (let isRoom = true; isRoom;) {
    try {
      writeFileSync(filler, Buffer.alloc(bytes), { flag: "a" });
    } catch {
      isRoom = false;
    }
  }
}
const count = async () => ((await store.read.runs.find(tenantId, id)) === undefined ? 0 : 1);
const size = async () => {
  const { bodies } = await store.read.runs.find(tenantId, id);
  return JSON.parse(Buffer.from(bodies[0]).toString()).inputs.text.length;
};
const facts = { before: await count(), sizes: [await size()] };
try {
  await store.write.projects.delete(tenantId, projectId);
} catch ({ status, retryAfterSeconds }) {
  facts.refusal = { status, retryAfterSeconds };
}
facts.after = await count();
facts.sizes.push(await size());
rmSync(filler);
for (let turn = 0; (await count()) > 0 && turn < 50; turn += 1) {
  await store.write.projects.delete(tenantId, projectId).catch(() => setTimeout(100));
}
facts.deletedWithRoom = await count();
await store.close();
process.stdout.write(`${JSON.stringify(facts)}\n`);

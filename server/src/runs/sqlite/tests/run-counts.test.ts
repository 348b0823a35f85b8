import { join } from "node:path";
import { expect, test } from "vitest";
import { createReaders, createWriters } from "../../../store/repositories.ts";
import { formatMigrations, openWriter } from "../../../store/schema.ts";
import { readDefaultTenantId } from "../../../storage/sqlite/open-database.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";
import { revertToFormat } from "../../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";
import { parseBatch } from "../../ingest/parse-batch.ts";
import { countIntervalMicros } from "../../run-list.ts";
import { earlyCountRepairs } from "../../tables/run-list-tables.ts";

test("runs from before 1970 that an earlier version has counted are counted again, and deleted ones subtracted", async () => {
  const path = join(await temporaryFolder(), "old.db");
  const old = openWriter(path);
  const tenantId = readDefaultTenantId(old);
  const post = [-20, -5, 5, 25].map((second) => wireRun({ micros: second * 1_000_000 }));
  createWriters(old).runs.apply(tenantId, parseBatch(Buffer.from(JSON.stringify({ post }))).batch);
  revertToFormat(old, formatMigrations.indexOf(earlyCountRepairs));
  old.exec(`DELETE FROM run_counts;
    INSERT INTO run_counts SELECT project_id, 1, start_us / ${countIntervalMicros}, count(*), 0 FROM runs GROUP BY 1, 2, 3`);
  old.close();
  const db = openWriter(path);
  const projectId = String(db.prepare("SELECT id FROM projects").raw().all().flat()[0]);
  const counts = createReaders(db).runLists.countRuns(tenantId, {
    projectId,
    isRoot: true,
    fromMicros: -30_000_000,
    toMicros: 30_000_000,
    widthMicros: countIntervalMicros,
  });
  expect(counts.map(({ startMicros, runs }) => [startMicros / 1_000_000, runs])).toEqual([
    [-20, 1],
    [-10, 1],
    [0, 1],
    [20, 1],
  ]);
  db.exec("DELETE FROM runs");
  expect(db.prepare("SELECT * FROM run_counts").all()).toEqual([]);
  db.close();
});

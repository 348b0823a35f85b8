// A writer of the ingest log that kills itself between its first commit and the acknowledgement:
// killed-writer.mjs URL FOLDER
import { setTimeout as sleep } from "node:timers/promises";
import { LogConnection } from "../../dist/ingest-log/log-connection.js";
import { IngestWriter } from "../../dist/ingest-log/ingest-writer.js";
import { parseLogUrl } from "../../dist/model/log-target.js";
import { openSqliteStore } from "../../dist/store/sqlite-store.js";

const [, , url, folder] = process.argv;
const store = await openSqliteStore(folder);
const log = await LogConnection.open(parseLogUrl(url), { maxBytes: 67_108_864, ackWaitMs: 1_000 });
const writer = new IngestWriter(log, {
  readOnlyReason: undefined,
  ingest: async (tenantId, batch) => {
    const { accepted } = await store.ingest(tenantId, batch);
    process.stdout.write(`${accepted}\n`, () => process.kill(process.pid, "SIGKILL"));
    // The process ends first.
    return sleep(60_000);
  },
});
// The writer ends with the process.
void writer;

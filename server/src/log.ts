// The entry point `@millrace/server/log`: its bundle contains the client of NATS, which only few programs need.
export { IngestLog } from "./ingest-log/log-admin.ts";
export type { DeadLetter, LogState } from "./ingest-log/log-report.ts";

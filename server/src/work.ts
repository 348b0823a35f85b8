// The entry point `@millrace/server/work`: its bundle contains the clients of NATS and of PostgreSQL, and no server.
export { startWriter } from "./start-writer.ts";
export type { RunningWriter, WriterOptions } from "./start-writer.ts";

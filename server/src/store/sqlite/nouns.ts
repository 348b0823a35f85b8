import type { Readers, Writers } from "../store.ts";
import { ProjectReader } from "./project-reader.ts";
import { ProjectWriter } from "./project-writer.ts";
import { PromptReader } from "./prompt-reader.ts";
import { PromptWriter } from "./prompt-writer.ts";
import { RunReader } from "./run-reader.ts";
import { RunWriter } from "./run-writer.ts";
import type { Connection } from "./schema.ts";
import { TenantReader } from "./tenant-reader.ts";
import { TenantWriter } from "./tenant-writer.ts";

/** What answers questions, on a connection that can't write. */
export const createReaders = (db: Connection) =>
  ({
    projects: new ProjectReader(db),
    prompts: new PromptReader(db),
    runs: new RunReader(db),
    tenants: new TenantReader(db),
  }) satisfies Readers;

/** What writes, on the one connection that does. Transactions are the caller's. */
export function createWriters(db: Connection) {
  const projects = new ProjectWriter(db);
  return {
    projects,
    prompts: new PromptWriter(db),
    runs: new RunWriter(db, projects),
    tenants: new TenantWriter(db),
  } satisfies Writers;
}

export type SqliteWriters = ReturnType<typeof createWriters>;

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findFreePort } from "../support/free-port.ts";
import { waitFor } from "./processes.ts";
import type { Processes } from "./processes.ts";

/** Where Debian's package has the programs of PostgreSQL 15. */
const postgresFolder = "/usr/lib/postgresql/15/bin";

export const hasPostgres = existsSync(join(postgresFolder, "postgres"));

/** A PostgreSQL server with an empty database. */
export interface SinglePostgres {
  /** The address of the database `postgres`, for a superuser. */
  readonly url: string;
  /** Id of the server's main process. */
  readonly pid: number;
}

/**
 * Starts a PostgreSQL server without a standby, which trusts connections on loopback.
 *
 * @param settings what differs from PostgreSQL's defaults
 */
export async function startPostgres(
  processes: Processes,
  settings: Readonly<Record<string, string>>,
): Promise<SinglePostgres> {
  const folder = join(processes.createDatabaseFolder("postgres"), "data");
  const port = await findFreePort();
  const initdb = processes.start({
    name: "initdb",
    command: join(postgresFolder, "initdb"),
    args: ["-D", folder, "-A", "trust", "-U", "postgres", "--locale=C.UTF-8", "-E", "UTF8"],
    isDatabase: true,
  });
  await waitFor("initdb", 120_000, () => Promise.resolve(initdb.hasExited() ? true : undefined));
  const { pid } = processes.start({
    name: "postgres",
    command: join(postgresFolder, "postgres"),
    args: [
      ["-D", folder, "-h", "127.0.0.1", "-p", String(port), "-c", "unix_socket_directories="],
      Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ].flat(),
    isDatabase: true,
  });
  await waitFor("PostgreSQL", 60_000, () => Promise.resolve(isReady(port) ? true : undefined));
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, pid };
}

function isReady(port: number): boolean {
  try {
    execFileSync(join(postgresFolder, "pg_isready"), ["-h", "127.0.0.1", "-p", String(port)]);
    return true;
  } catch {
    return false;
  }
}

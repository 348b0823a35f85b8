import { hostname } from "node:os";
import { PostgresConnection } from "../../storage/postgres/postgres-connection.ts";
import type { PostgresTarget } from "../../model/store-url.ts";

/** Which database to connect to, and how. */
export interface ConnectionSettings {
  readonly target: PostgresTarget;
  /** The longest that a statement may take, in milliseconds. */
  readonly statementMs: number;
  /** SQL with which each connection begins, so that row-level security applies to it. */
  readonly roleSql: string;
}

/** The `workerData` of a thread that uses the database. */
export interface PostgresThreadData {
  readonly connection: ConnectionSettings;
  /** Folder with the key of share links. */
  readonly dataDir: string;
  /** Whether this process may become the leader, the server that applies rules for all servers; see `ServerNotices`. */
  readonly canLead?: boolean;
}

/** Opens a connection, and runs the SQL with which each connection begins. */
export async function connect({
  target,
  statementMs,
  roleSql,
}: ConnectionSettings): Promise<PostgresConnection> {
  const connection = await PostgresConnection.connect(target, {
    applicationName: `millrace ${hostname()}`,
    statementMs,
  });
  if (roleSql !== "") {
    await connection.exec(roleSql);
  }
  return connection;
}

import { messageOf, ServerError } from "../../model/errors.ts";
import { describeTarget, parseStoreUrl } from "../../model/store-url.ts";
import { readFormat } from "../../storage/postgres/migrations.ts";
import type { PostgresClient } from "../../storage/postgres/postgres-client.ts";
import type { PostgresConnection } from "../../storage/postgres/postgres-connection.ts";
import { prepareRole } from "../../storage/postgres/server-role.ts";
import { allTenants } from "../../storage/postgres/tenant-policies.ts";
import { connect } from "./connect.ts";
import { postgresFormats } from "./formats.ts";

/** Time limits for a statement of a command: its total duration, and its wait for a lock. */
export const commandLimits = { statementMs: 600_000, lockMs: 20_000 } as const;

/**
 * Opens a database connection for a command of the CLI, with the role that a Millrace server uses.
 *
 * @throws ServerError the database can't be reached, or refuses the login. The message contains no password.
 */
export async function connectCommand(url: string): Promise<PostgresConnection> {
  const target = parseStoreUrl(url);
  let connection: PostgresConnection | undefined;
  try {
    connection = await connect({ target, statementMs: commandLimits.statementMs, roleSql: "" });
    const roleSql = await prepareRole(connection);
    if (roleSql !== "") {
      await connection.exec(roleSql);
    }
    return connection;
  } catch (cause) {
    await connection?.close();
    throw cause instanceof ServerError
      ? cause
      : new ServerError(
          "STORE",
          `Failed to open the store at ${describeTarget(target)}: ${messageOf(cause)}`,
          { cause },
        );
  }
}

/**
 * Runs reads on one consistent snapshot of the database, whatever is written meanwhile.
 *
 * @throws ServerError the tables are missing, or their format is not that of this version.
 */
export async function readSnapshot<Result>(
  client: PostgresClient,
  read: () => Promise<Result>,
): Promise<Result> {
  await client.exec(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL statement_timeout = ${commandLimits.statementMs};
    SET LOCAL millrace.tenant = '${allTenants}'`);
  try {
    await assertStoreFormat(client);
    return await read();
  } finally {
    await client.exec("ROLLBACK");
  }
}

/** @throws ServerError the tables are missing, or their format is not that of this version. */
export async function assertStoreFormat(client: PostgresClient): Promise<void> {
  const { rows } = await client.run({
    text: "SELECT to_regclass('formats') IS NOT NULL AS exists",
    values: [],
  });
  const format = rows[0]?.["exists"] === true ? await readFormat(client) : 0;
  if (format !== postgresFormats.length) {
    throw new ServerError(
      "STORE",
      format === 0
        ? "the database has no tables of a server: start a server on it first"
        : `the database has format ${format}, but this command reads format ${postgresFormats.length}: run the command in the version of the servers`,
    );
  }
}

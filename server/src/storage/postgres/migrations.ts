import { ServerError } from "../../model/errors.ts";
import { warnOfConversion } from "../thread-warnings.ts";
import type { PostgresClient } from "./postgres-client.ts";
import { tenantPolicies } from "./tenant-policies.ts";

/**
 * Brings the tables to the newest format, each migration in a transaction of its own. A lock lets one server at a time
 * migrate; the others wait, and then find nothing to do. A migration is never undone.
 *
 * @param formats - for each format, the SQL that leads to it from the format before. Entries are only appended.
 * @throws ServerError the database has a newer format than this server supports, or a migration failed.
 */
export async function migrate(client: PostgresClient, formats: readonly string[]): Promise<void> {
  await client.exec(`SET lock_timeout = ${lockMs}`);
  try {
    await client.exec(`SELECT pg_advisory_lock(${migrationLock})`);
  } catch (cause) {
    throw new ServerError(
      "STORE",
      `another server has been changing the tables of the database for more than ${lockMs / 1_000} seconds: wait until it is done, and start this server again`,
      { cause },
    );
  }
  try {
    await client.exec(
      "CREATE TABLE IF NOT EXISTS formats (format BIGINT PRIMARY KEY, since_us BIGINT NOT NULL)",
    );
    const format = await readFormat(client);
    if (format > formats.length) {
      throw new ServerError(
        "STORE",
        `the database has format ${format}, but this server supports formats up to ${formats.length}: use a newer server`,
      );
    }
    if (format > 0 && format < formats.length) {
      warnOfConversion(format, formats.length);
    }
    for (const [index, sql] of formats.entries()) {
      if (index >= format) {
        await applyFormat(client, index + 1, sql);
      }
    }
  } finally {
    // If the connection is lost, the database releases the lock itself, and the first error is reported.
    await client
      .exec(`SELECT pg_advisory_unlock(${migrationLock}); SET lock_timeout = 0`)
      .catch(() => undefined);
  }
}

/** Reads the format of the tables; 0 for an empty database. */
export async function readFormat(client: PostgresClient): Promise<number> {
  const { rows } = await client.run({
    text: "SELECT coalesce(max(format), 0) AS format FROM formats",
    values: [],
  });
  return Number(rows[0]?.["format"]);
}

async function applyFormat(client: PostgresClient, format: number, sql: string): Promise<void> {
  try {
    await client.exec(
      `BEGIN; ${sql}; ${tenantPolicies}; INSERT INTO formats VALUES (${format}, ${Date.now() * 1_000}); COMMIT`,
    );
  } catch (cause) {
    await client.exec("ROLLBACK").catch(() => undefined);
    throw new ServerError(
      "STORE",
      `the tables could not be brought to format ${format}, and nothing was changed: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}

/**
 * The key of the advisory lock that lets one server at a time migrate. No other program may lock this number in the
 * same database.
 */
export const migrationLock = 7_239_440_001;

/** Milliseconds for which a server waits until another one has migrated the tables. */
const lockMs = 120_000;

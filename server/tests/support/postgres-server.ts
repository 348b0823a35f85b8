import { randomUUID } from "node:crypto";
import process from "node:process";
import { Client } from "pg";

/**
 * The URL of a database of a PostgreSQL server on which tests may create databases and roles, or `undefined`: tests that
 * need a server are then skipped.
 */
export const testServerUrl = process.env["MILLRACE_TEST_POSTGRES"];

export interface TestDatabase {
  /** The URL of the database, for a role that owns it and is no superuser. */
  readonly url: string;
  /** The URL of the same database, for the login of the tests. */
  readonly adminUrl: string;
  drop(): Promise<void>;
}

/** Creates an empty database with an owner of its own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const base = new URL(String(testServerUrl));
  const name = `millrace_test_${randomUUID().replaceAll("-", "")}`;
  const password = "p@ss/word";
  await runSql(base.href, [
    `CREATE ROLE ${name} LOGIN PASSWORD '${password}'`,
    `CREATE DATABASE ${name} OWNER ${name}`,
  ]);
  const admin = new URL(base);
  admin.pathname = name;
  const url = new URL(admin);
  url.username = name;
  url.password = encodeURIComponent(password);
  return {
    url: url.href,
    adminUrl: admin.href,
    drop: () => runSql(base.href, [`DROP DATABASE ${name} WITH (FORCE)`, `DROP ROLE ${name}`]),
  };
}

/** Runs statements, each in a transaction of its own. Returns the rows of the last one. */
export async function runSql(url: string, statements: readonly string[]): Promise<void> {
  await querySql(url, statements);
}

export async function querySql(
  url: string,
  statements: readonly string[],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    let rows: readonly Readonly<Record<string, unknown>>[] = [];
    for (const statement of statements) {
      ({ rows } = await client.query<Readonly<Record<string, unknown>>>(statement));
    }
    return rows;
  } finally {
    await client.end();
  }
}

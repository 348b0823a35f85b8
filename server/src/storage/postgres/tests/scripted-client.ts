import type { PostgresClient, PostgresRows, PostgresStatement } from "../postgres-client.ts";

/** A connection that records its statements and fails where a test wants it to. */
export class ScriptedClient implements PostgresClient {
  readonly statements: string[] = [];
  /** Called before each statement; what it throws is the statement's error. */
  onStatement: (sql: string) => void = () => undefined;

  async run({ text }: PostgresStatement): Promise<PostgresRows> {
    await this.exec(text);
    return { rows: [], count: 0 };
  }

  async exec(sql: string): Promise<void> {
    this.statements.push(sql.replaceAll(/\s+/g, " ").trim());
    this.onStatement(sql);
  }
}

/** An error as PostgreSQL reports it. */
export const createDatabaseError = (code: string): Error =>
  Object.assign(new Error(`SQLSTATE ${code}`), { code });

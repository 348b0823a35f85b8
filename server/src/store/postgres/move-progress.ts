import { ServerError } from "../../model/errors.ts";
import type { PostgresClient } from "../../storage/postgres/postgres-client.ts";
import { moveSetting } from "../move-mark.ts";

/** How much of a move to this database is complete. It is updated in the transactions that copy rows. */
export interface MoveProgress {
  readonly id: string;
  /** The id of the default tenant of the data folder, which no other folder has. */
  readonly source: string;
  /** Number of the last change in the data folder that was applied to this database. */
  readonly applied: number;
  /** Index in the list of tables of the table that is being copied. */
  readonly table: number;
  /** Primary key of the last copied row of that table; `null` before the first row. */
  readonly position: readonly (string | number)[] | null;
}

/** Reads the progress of an incomplete move; `undefined` if there is none. */
export async function readMoveProgress(client: PostgresClient): Promise<MoveProgress | undefined> {
  const { rows } = await client.run({
    text: `SELECT value FROM settings WHERE key = '${moveSetting}'`,
    values: [],
  });
  const value = rows[0]?.["value"];
  return typeof value === "string" ? (JSON.parse(value) as MoveProgress) : undefined;
}

/** Stores how far the move of a data folder to this database has come. */
export async function writeMoveProgress(
  client: PostgresClient,
  progress: MoveProgress,
): Promise<void> {
  await client.run({
    text: `INSERT INTO settings (key, value) VALUES ('${moveSetting}', $1)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    values: [JSON.stringify(progress)],
  });
}

/** Deletes the progress of the move, so that servers can use the database. */
export const deleteMoveProgress = (client: PostgresClient): Promise<void> =>
  client.exec(`DELETE FROM settings WHERE key = '${moveSetting}'`);

/** @throws ServerError the data of a folder is being moved to the database. */
export async function assertNoMove(client: PostgresClient): Promise<void> {
  if ((await readMoveProgress(client)) !== undefined) {
    throw new ServerError(
      "STORE",
      "a move of a data folder to this database is not complete: run millrace move again, which continues it, and start the server afterwards",
    );
  }
}

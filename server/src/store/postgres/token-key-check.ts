import { existsSync } from "node:fs";
import { join } from "node:path";
import { ServerError } from "../../model/errors.ts";
import { prepareFolder } from "../../storage/sqlite/folder.ts";
import type { PostgresClient } from "../../storage/postgres/postgres-client.ts";
import { tokenKeyFileName, TokenKeys } from "../../storage/sqlite/token-keys.ts";

/**
 * Reads the keys that encrypt the tokens of share links. They are in a file and not in the database, so that a copy of
 * the database opens no link. All servers of a database must have the same file: the first one creates it, and stores a
 * digest of its key, by which the others recognize it.
 *
 * @throws ServerError the folder has no key of this database.
 */
export async function readTokenKeys(client: PostgresClient, folder: string): Promise<TokenKeys> {
  const folderPath = prepareFolder(folder);
  const path = join(folderPath, tokenKeyFileName);
  const knownDigest = await findDigest(client);
  if (knownDigest !== undefined && !existsSync(path)) {
    throw createMissingKeyError(path);
  }
  const keys = TokenKeys.readOrCreate(folderPath);
  const [digest] = keys.digests;
  if (knownDigest === undefined && digest !== undefined) {
    await client.run({
      text: `INSERT INTO settings (key, value) VALUES ('${digestSetting}', $1) ON CONFLICT DO NOTHING`,
      values: [digest],
    });
  }
  // If two servers start for the first time at once, the stored digest is that of only one of them.
  const storedDigest = await findDigest(client);
  if (storedDigest === undefined || !keys.digests.includes(storedDigest)) {
    throw createMissingKeyError(path);
  }
  return keys;
}

const digestSetting = "token_key_digest";

async function findDigest(client: PostgresClient): Promise<string | undefined> {
  const { rows } = await client.run({
    text: `SELECT value FROM settings WHERE key = '${digestSetting}'`,
    values: [],
  });
  return rows[0] === undefined ? undefined : String(rows[0]["value"]);
}

const createMissingKeyError = (path: string): ServerError =>
  new ServerError(
    "STORE",
    `${path} does not contain the key with which the servers of this database encrypt share links: copy the file from the data folder of a server that uses the database`,
  );

import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { ShareToken } from "../share-token.ts";
import type { Connection } from "./connection.ts";

/** The file in the data folder; its first line encrypts, each line decrypts. */
export const tokenKeyFile = "token.key";

const algorithm = "aes-256-gcm";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** What a token is looked up by. It has 122 random bits or more: there is nothing to guess, so it needs no salt. */
export const digestToken = (token: string): string =>
  createHash("sha256").update(token).digest("base64url");

/**
 * Encrypts the tokens of links, so that a copy of the database opens none of them, and the server can still show
 * their addresses. Each is bound to the row that it stands in.
 */
export class TokenKeys {
  readonly #keys: readonly Buffer[];

  private constructor(keys: readonly Buffer[]) {
    this.#keys = keys;
  }

  /** For a database in memory: the key ends with it. */
  static random(): TokenKeys {
    return new TokenKeys([randomBytes(keyBytes)]);
  }

  /** Those of a data folder; none where the file is missing. */
  static read(folder: string): TokenKeys {
    return new TokenKeys(parseKeys(readKeyFile(folder)));
  }

  /** As {@link TokenKeys.read}, for the process that has locked the folder: creates a key where it is missing. */
  static prepare(folder: string): TokenKeys {
    const text = readKeyFile(folder);
    if (parseKeys(text).length === 0) {
      // What stands there is no key, but somebody put it there: it stays below the new one.
      writeKeyFile(folder, `${randomBytes(keyBytes).toString("base64url")}\n${text}`);
    }
    return TokenKeys.read(folder);
  }

  /** @param owner - the row that the token stands in. */
  seal(token: string, owner: string): string {
    const [key] = this.#keys;
    if (key === undefined) {
      throw new Error(`no key in ${tokenKeyFile}: start the server again, which makes one`);
    }
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(owner));
    const parts = [nonce, cipher.update(token, "utf8"), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(parts).toString("base64url");
  }

  /** `undefined` where no key of these sealed it for this row. */
  open(sealed: string, owner: string): string | undefined {
    const bytes = Buffer.from(sealed, "base64url");
    if (bytes.length < nonceBytes + tagBytes) {
      return undefined;
    }
    for (const key of this.#keys) {
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      })
        .setAAD(Buffer.from(owner))
        .setAuthTag(bytes.subarray(-tagBytes));
      try {
        const text = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
        return Buffer.concat([text, decipher.final()]).toString();
      } catch {
        // Another key's: `final` refuses what it did not seal.
      }
    }
    return undefined;
  }
}

const parseKeys = (text: string): readonly Buffer[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^[\w-]{43}$/.test(line))
    .map((line) => Buffer.from(line, "base64url"));

function readKeyFile(folder: string): string {
  const path = join(folder, tokenKeyFile);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/** A reader, or the next start after a power cut, finds the old file or the whole new one. */
function writeKeyFile(folder: string, text: string): void {
  const path = join(folder, tokenKeyFile);
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  const file = openSync(draft, "wx", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}

/** Lets statements of a connection seal tokens and open them, within the rows of a query. */
export function defineTokenFunctions(db: Connection, keys: TokenKeys): void {
  db.define("token_digest", (token) => digestToken(String(token)));
  db.define("seal_token", (token, owner) => keys.seal(String(token), String(owner)));
  db.define("open_token", (sealed, owner) => keys.open(String(sealed), String(owner)) ?? "");
}

/**
 * The token of a row that may have one: what {@link toShareToken} takes. No function is called for rows without.
 *
 * @param owner - an expression that names the row.
 */
export const openedToken = (sealed: string, owner: string): string =>
  `CASE WHEN ${sealed} IS NULL THEN NULL ELSE open_token(${sealed}, ${owner}) END`;

/** Which rows tokens are bound to, as expressions. */
export const tokenOwners = {
  run: (id: string): string => `'run ' || ${id}`,
  trace: (rootId: string): string => `'trace ' || ${rootId}`,
  thread: (projectId: string, threadJson: string): string =>
    `'thread ' || ${projectId} || ' ' || ${threadJson}`,
  dataset: (id: string): string => `'dataset ' || ${id}`,
  feedback: (id: string): string => `'feedback ' || ${id}`,
} as const;

/** A value of {@link openedToken}. */
export function toShareToken(value: unknown): ShareToken {
  if (typeof value !== "string") {
    return null;
  }
  return value === "" ? { isHidden: true } : value;
}

/** Whether tokens are kept that can't be shown: one of each table is tried, since a lost key concerns them all. */
export function hasHiddenTokens(db: Connection): boolean {
  const { run, trace, thread, dataset, feedback } = tokenOwners;
  const found = db
    .prepare(
      `SELECT (SELECT open_token(sealed, ${run("id")}) FROM shares LIMIT 1),
         (SELECT open_token(sealed, ${trace("id")}) FROM trace_shares LIMIT 1),
         (SELECT open_token(sealed, ${thread("project_id", "thread_json")}) FROM thread_shares LIMIT 1),
         (SELECT open_token(share_sealed, ${dataset("id")}) FROM datasets WHERE share_digest IS NOT NULL LIMIT 1),
         (SELECT open_token(sealed, ${feedback("id")}) FROM feedback_tokens WHERE expires_us > ? LIMIT 1)`,
    )
    .raw()
    .all([Date.now() * 1_000]);
  return found.flat().includes("");
}

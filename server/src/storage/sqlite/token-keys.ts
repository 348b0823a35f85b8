import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
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
import { digestToken } from "../share-token.ts";
import type { ShareToken, TokenCipher } from "../share-token.ts";
import type { Connection } from "./connection.ts";

/**
 * Name of the file in the data folder that contains one encryption key per line. The first key encrypts new tokens;
 * every key can decrypt tokens.
 */
export const tokenKeyFileName = "token.key";

const algorithm = "aes-256-gcm";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts the tokens of share links. Someone with a copy of the database can then use none of the links, while the
 * server can still show their URLs. A token can be decrypted only for the row that it was encrypted for.
 */
export class TokenKeys implements TokenCipher {
  readonly #keys: readonly Buffer[];

  private constructor(keys: readonly Buffer[]) {
    this.#keys = keys;
  }

  /** Creates a key for a database in memory, which is lost together with the database. */
  static createRandom(): TokenKeys {
    return new TokenKeys([randomBytes(keyBytes)]);
  }

  /** Reads the keys of a data folder. Without a key file, the result contains no key. */
  static read(folder: string): TokenKeys {
    return new TokenKeys(parseKeys(readKeyFile(folder)));
  }

  /**
   * Like {@link TokenKeys.read}, for the process that has locked the folder: creates a key if the folder has none.
   */
  static readOrCreate(folder: string): TokenKeys {
    const text = readKeyFile(folder);
    if (parseKeys(text).length === 0) {
      // The existing text contains no key, but someone may need it, so it stays in the file below the new key.
      writeKeyFile(folder, `${randomBytes(keyBytes).toString("base64url")}\n${text}`);
    }
    return TokenKeys.read(folder);
  }

  /** For each key, a digest that identifies the key without revealing it. */
  get digests(): readonly string[] {
    return this.#keys.map((key) => derive(key, "digest").toString("base64url"));
  }

  /** A secret for another purpose, which is the same for all servers with the same first key. */
  deriveSecret(purpose: string): Uint8Array {
    const [key] = this.#keys;
    return key === undefined ? randomBytes(keyBytes) : derive(key, purpose);
  }

  /** @param owner - identifies the row that contains the token. */
  encrypt(token: string, owner: string): string {
    const [key] = this.#keys;
    if (key === undefined) {
      throw new Error(`no key in ${tokenKeyFileName}: restart the server, which creates one`);
    }
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(owner));
    const encryptedChunks = [
      nonce,
      cipher.update(token, "utf8"),
      cipher.final(),
      cipher.getAuthTag(),
    ];
    return Buffer.concat(encryptedChunks).toString("base64url");
  }

  /** Decrypts a token; `undefined` if none of the keys encrypted it for this row. */
  decrypt(encryptedToken: string, owner: string): string | undefined {
    // A restored row may have a qualified key, while its token was encrypted for the plain id.
    const owners = new Set([owner, owner.replace(qualifiedKeyPattern, "$1")]);
    for (const possibleOwner of owners) {
      const token = this.#decryptFor(encryptedToken, possibleOwner);
      if (token !== undefined) {
        return token;
      }
    }
    return undefined;
  }

  #decryptFor(encryptedToken: string, owner: string): string | undefined {
    const bytes = Buffer.from(encryptedToken, "base64url");
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
        // The token was encrypted with another key: `final` rejects it.
      }
    }
    return undefined;
  }
}

/** The key of a row whose id another tenant has, too: the id, a slash and the id of the tenant. */
const qualifiedKeyPattern = /([\da-f-]{36})\/[\da-f-]{36}/;

const derive = (key: Buffer, purpose: string): Buffer =>
  createHmac("sha256", key).update(purpose).digest();

/**
 * Checks that a file contains keys that can be added to those of a data folder.
 *
 * @throws Error the file can't be read or contains no key.
 */
export function assertTokenKeys(file: string): void {
  if (parseKeys(readFileSync(file, "utf8")).length === 0) {
    throw new Error(`${file} contains no key for share links`);
  }
}

const parseKeys = (text: string): readonly Buffer[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^[\w-]{43}$/.test(line))
    .map((line) => Buffer.from(line, "base64url"));

function readKeyFile(folder: string): string {
  const path = join(folder, tokenKeyFileName);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/**
 * Replaces the file atomically: a reader, or the next start after a power failure, finds either the old or the new
 * file.
 */
function writeKeyFile(folder: string, text: string): void {
  const path = join(folder, tokenKeyFileName);
  const newPath = `${path}.new`;
  rmSync(newPath, { force: true });
  const fileDescriptor = openSync(newPath, "wx", 0o600);
  try {
    writeSync(fileDescriptor, text);
    fsyncSync(fileDescriptor);
  } finally {
    closeSync(fileDescriptor);
  }
  renameSync(newPath, path);
}

/**
 * Puts the keys of a file before the keys of a data folder. The first key encrypts new tokens; every key can decrypt
 * the tokens that it has encrypted.
 *
 * @throws Error the file can't be read or contains no key.
 */
export function addTokenKeys(folder: string, file: string): void {
  assertTokenKeys(file);
  const addedText = readFileSync(file, "utf8").trim();
  const existingText = readKeyFile(folder);
  if (!existingText.startsWith(addedText)) {
    writeKeyFile(folder, `${addedText}\n${existingText}`);
  }
}

/**
 * Adds the keys of another file after the keys of a data folder, so that tokens that they have encrypted can be
 * decrypted. New tokens are encrypted with the first key, as before.
 *
 * @throws Error the file can't be read or contains no key.
 */
export function appendTokenKeys(folder: string, file: string): void {
  assertTokenKeys(file);
  const added = parseKeys(readFileSync(file, "utf8"));
  const text = readKeyFile(folder);
  const knownKeys = new Set(parseKeys(text).map((key) => key.toString("base64url")));
  const missing = added
    .map((key) => key.toString("base64url"))
    .filter((key) => !knownKeys.has(key));
  if (missing.length > 0) {
    const end = text === "" || text.endsWith("\n") ? text : `${text}\n`;
    writeKeyFile(folder, `${end}${missing.join("\n")}\n`);
  }
}

const keysOfConnections = new WeakMap<Connection, TokenKeys>();

/** Returns the token keys of a connection's database. Repositories encrypt and decrypt tokens with them. */
export function tokenKeysOf(db: Connection): TokenKeys {
  const keys = keysOfConnections.get(db);
  if (keys === undefined) {
    throw new Error("the connection has no token keys: open it with openReader or openWriter");
  }
  return keys;
}

/**
 * Defines SQL functions that hash, encrypt and decrypt tokens within a query, and stores the keys for
 * {@link tokenKeysOf}.
 */
export function defineTokenFunctions(db: Connection, keys: TokenKeys): void {
  keysOfConnections.set(db, keys);
  db.defineFunction("token_digest", (token) => digestToken(String(token)));
  db.defineFunction("seal_token", (token, owner) => keys.encrypt(String(token), String(owner)));
  db.defineFunction(
    "open_token",
    (encryptedToken, owner) => keys.decrypt(String(encryptedToken), String(owner)) ?? "",
  );
}

/**
 * SQL that selects the decrypted token of a row that may have one; {@link toShareToken} converts its result. Rows
 * without a token cost no decryption.
 *
 * @param owner - an SQL expression that identifies the row.
 */
export const selectToken = (encryptedToken: string, owner: string): string =>
  `CASE WHEN ${encryptedToken} IS NULL THEN NULL ELSE open_token(${encryptedToken}, ${owner}) END`;

/** SQL expressions that identify the row to which a token is bound. */
export const tokenOwnerSql = {
  run: (id: string): string => `'run ' || ${id}`,
  trace: (rootId: string): string => `'trace ' || ${rootId}`,
  thread: (projectId: string, threadJson: string): string =>
    `'thread ' || ${projectId} || ' ' || ${threadJson}`,
  dataset: (id: string): string => `'dataset ' || ${id}`,
  feedback: (id: string): string => `'feedback ' || ${id}`,
} as const;

/** Converts a value that {@link selectToken} selected. */
export function toShareToken(value: unknown): ShareToken {
  if (typeof value !== "string") {
    return null;
  }
  return value === "" ? { isHidden: true } : value;
}

/**
 * Whether some tokens can't be decrypted. One token of each table is tried, because a lost key affects all of them.
 */
export function hasHiddenTokens(db: Connection): boolean {
  const { run, trace, thread, dataset, feedback } = tokenOwnerSql;
  const sampleRows = db
    .prepare(
      `SELECT (SELECT open_token(sealed, ${run("id")}) FROM shares LIMIT 1),
         (SELECT open_token(sealed, ${trace("id")}) FROM trace_shares LIMIT 1),
         (SELECT open_token(sealed, ${thread("project_id", "thread_json")}) FROM thread_shares LIMIT 1),
         (SELECT open_token(share_sealed, ${dataset("id")}) FROM datasets WHERE share_digest IS NOT NULL LIMIT 1),
         (SELECT open_token(sealed, ${feedback("id")}) FROM feedback_tokens WHERE expires_us > ? LIMIT 1)`,
    )
    .raw()
    .all([Date.now() * 1_000]);
  return sampleRows.flat().includes("");
}

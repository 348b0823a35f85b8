import { createHash } from "node:crypto";
import { RequestError } from "../model/errors.ts";

/**
 * The token of a share link, or `null` if there is no link. Tokens are stored encrypted; `isHidden` means that the
 * key for decrypting the token is missing.
 */
export type ShareToken = string | { readonly isHidden: true } | null;

/** Returns the token for a response that contains a run or a dataset; `null` also if the token can't be decrypted. */
export const toVisibleToken = (token: ShareToken): string | null =>
  typeof token === "string" ? token : null;

/**
 * Returns the token for a response that must contain it; `null` if there is no share link.
 *
 * @throws RequestError 409: there is a token, but the key for decrypting it is missing.
 */
export function readToken(token: Exclude<ShareToken, null>): string;
export function readToken(token: ShareToken): string | null;
export function readToken(token: ShareToken): string | null {
  if (token !== null && typeof token === "object") {
    throw new RequestError(
      409,
      "the link works, but its URL can't be shown, because token.key next to the database does not contain the key that it was encrypted with: restore that file and restart the server, or create a new link",
    );
  }
  return token;
}

/**
 * Encrypts the tokens of share links. An encrypted token can be decrypted only for the row that it was encrypted for.
 */
export interface TokenCipher {
  /** @param owner - identifies the row that contains the token. */
  encrypt(token: string, owner: string): string;
  /** Returns `undefined` if none of the keys encrypted the token for this row. */
  decrypt(encrypted: string, owner: string): string | undefined;
}

/**
 * The digest by which a stored token is found. A token has at least 122 random bits and can't be guessed, so the digest
 * needs no salt.
 */
export const digestToken = (token: string): string =>
  createHash("sha256").update(token).digest("base64url");

/** Identifies the row to which a token is bound. */
export const tokenOwner = {
  trace: (rootId: string): string => `trace ${rootId}`,
  thread: (projectId: string, threadJson: string): string => `thread ${projectId} ${threadJson}`,
  dataset: (id: string): string => `dataset ${id}`,
  feedback: (id: string): string => `feedback ${id}`,
} as const;

export const decryptToken = (
  tokenCipher: TokenCipher,
  encryptedToken: string,
  owner: string,
): Exclude<ShareToken, null> => tokenCipher.decrypt(encryptedToken, owner) ?? { isHidden: true };

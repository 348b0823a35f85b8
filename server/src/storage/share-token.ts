import { RequestError } from "../model/errors.ts";

/**
 * The token of a share, or `null` if there is no share. Tokens are stored encrypted; `isHidden` means that the key
 * for decrypting it is missing.
 */
export type ShareToken = string | { readonly isHidden: true } | null;

/** The token as responses contain it in a run or a dataset; `null` also if it can't be decrypted. */
export const visibleToken = (token: ShareToken): string | null =>
  typeof token === "string" ? token : null;

/**
 * Returns the token for a response that must contain it; `null` if there is no share. @throws RequestError 409: there
 * is a token, but the key for decrypting it is missing.
 */
export function readToken(token: ShareToken): string | null {
  if (token !== null && typeof token === "object") {
    throw new RequestError(
      409,
      "the link works, but its URL can't be shown, because token.key next to the database does not contain the key that it was encrypted with: restore that file and restart the server, or create a new link",
    );
  }
  return token;
}

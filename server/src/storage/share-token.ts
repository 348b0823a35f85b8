import { RequestError } from "../model/errors.ts";

/** What is shared has a token; the store keeps it encrypted, and can't show it without its key. `null`: it is not shared. */
export type ShareToken = string | { readonly isHidden: true } | null;

/** For those who show a run or a dataset: its token where there is one to show. */
export const shownToken = (token: ShareToken): string | null =>
  typeof token === "string" ? token : null;

/** For those who show an address. @throws RequestError 409: there is one, and its key is not there. */
export function readToken(token: ShareToken): string | null {
  if (token !== null && typeof token === "object") {
    throw new RequestError(
      409,
      "the link works, but its address can't be shown, since token.key beside the database does not hold the key that it was encrypted with: put that file back and start the server again, or make a new link",
    );
  }
  return token;
}

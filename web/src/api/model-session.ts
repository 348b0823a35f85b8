// Both are in the storage of this tab: they end with it. Keys of models are never stored in the browser.
const tokenName = "millrace-model-token";
const sessionName = "millrace-model-session";

/** Stores the token that the server printed when it started. */
export const storeModelToken = (token: string): void => sessionStorage.setItem(tokenName, token);

/** The headers of requests that call models: the token, and the session whose keys the server uses. */
export function createModelHeaders(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(tokenName);
  let session = sessionStorage.getItem(sessionName);
  if (session === null) {
    session = crypto.randomUUID();
    sessionStorage.setItem(sessionName, session);
  }
  return { "x-model-session": session, ...(token === null ? {} : { "x-model-token": token }) };
}

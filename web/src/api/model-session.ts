// The names of two entries in `sessionStorage`, which the browser deletes when the tab is closed. The API keys of model
// providers are never stored in the browser.
const tokenStorageName = "millrace-model-token";
const sessionStorageName = "millrace-model-session";

/** Stores the token with which this tab may call models. The server prints it at its start. */
export const storeModelToken = (token: string): void =>
  sessionStorage.setItem(tokenStorageName, token);

/** The headers of requests that call models: the token, and the id of the session whose API keys the server uses. */
export function createModelHeaders(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(tokenStorageName);
  let session = sessionStorage.getItem(sessionStorageName);
  if (session === null) {
    session = crypto.randomUUID();
    sessionStorage.setItem(sessionStorageName, session);
  }
  return { "x-model-session": session, ...(token === null ? {} : { "x-model-token": token }) };
}

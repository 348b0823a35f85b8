// The names of two entries in `sessionStorage`, which the browser deletes when the tab is closed. The API keys of model
// providers are never stored in the browser.
const tokenName = "millrace-model-token";
const sessionName = "millrace-model-session";

/** Stores the token with which this tab may call models. The server prints it at its start. */
export const storeModelToken = (token: string): void => sessionStorage.setItem(tokenName, token);

/** The headers of requests that call models: the token, and the id of the session whose API keys the server uses. */
export function createModelHeaders(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(tokenName);
  let session = sessionStorage.getItem(sessionName);
  if (session === null) {
    session = crypto.randomUUID();
    sessionStorage.setItem(sessionName, session);
  }
  return { "x-model-session": session, ...(token === null ? {} : { "x-model-token": token }) };
}

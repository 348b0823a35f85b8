import { ApiError, RequestTimeoutError } from "./http.ts";

/** Why a request failed, as the UI shows it. */
export interface CallFailure {
  readonly kind:
    /** The resource does not exist, or this key may not read it. */
    | "missing"
    /** The server did not respond. */
    | "offline"
    /** No response within the deadline. */
    | "timeout"
    /** The server rejected the request (4xx). */
    | "rejected"
    /** The server or a proxy failed (5xx). */
    | "failed"
    /** The response could not be parsed. */
    | "malformed";
  readonly message: string;
  /** The error message of the server or of the JSON parser. */
  readonly detail?: string;
}

/** Describes an error for the UI. `isSingleResource` is true if the request was for one resource, by its id. */
export function describeFailure(
  error: Error,
  { isSingleResource }: { readonly isSingleResource: boolean },
): CallFailure {
  if (error instanceof RequestTimeoutError) {
    return { kind: "timeout", message: `${error.message} It may be busy. Try again later.` };
  }
  if (!(error instanceof ApiError)) {
    return {
      kind: "malformed",
      message:
        "The response could not be parsed. The server may have been updated: reload the page. Otherwise, check the proxies between the browser and the server.",
      detail: error.message,
    };
  }
  const { status, message } = error;
  if (isOffline(error)) {
    return { kind: "offline", message };
  }
  if (status === 404 || (isSingleResource && isMissing(error))) {
    return {
      kind: "missing",
      message: "It may have been deleted or belong to another tenant, or the URL is incomplete.",
      detail: message,
    };
  }
  return status >= 500
    ? { kind: "failed", message: "The server failed to process the request.", detail: message }
    : { kind: "rejected", message: message };
}

/** Describes in a word or a sentence why live data stopped. A banner explains a lost connection. */
export const describeLiveFailure = (error: Error): string =>
  isOffline(error) ? "Disconnected" : error.message;

/** Whether the server did not respond. */
export const isOffline = (error: Error): boolean => error instanceof ApiError && error.status === 0;

/** Whether a resource does not exist: it was deleted (404), or its id in the URL is invalid (422). */
export const isMissing = (error: Error | null): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 422);

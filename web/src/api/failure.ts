import { ApiError, RequestTimeoutError } from "./http.ts";

/** Why something is not here, and what is to be said of it. */
export interface CallFailure {
  readonly kind:
    /** There is no such thing, or not for whoever asks. */
    | "missing"
    /** The server did not answer. */
    | "gone"
    /** It took longer than it is waited for. */
    | "late"
    /** It said no. */
    | "refused"
    /** It, or something before it, is at fault. */
    | "failed"
    /** Its answer is none that this page knows. */
    | "garbled";
  readonly message: string;
  /** What the server, or the reader of its answer, said itself. */
  readonly detail?: string;
}

/** What an error of a call means to whoever waits for the answer; `isOne`: they asked for one thing, by its id. */
export function describeFailure(error: Error, { isOne }: { readonly isOne: boolean }): CallFailure {
  if (error instanceof RequestTimeoutError) {
    return { kind: "late", message: `${error.message} It may be busy: try again in a while.` };
  }
  if (!(error instanceof ApiError)) {
    return {
      kind: "garbled",
      message:
        "The server's answer could not be read. It may be of another version than this page: load the page anew, or look at what stands between it and the server.",
      detail: error.message,
    };
  }
  const { status, message } = error;
  if (status === 0) {
    return { kind: "gone", message: message };
  }
  if (status === 404 || (isOne && isMissing(error))) {
    return {
      kind: "missing",
      message: "It may have been deleted, belong to another tenant, or the address is not whole.",
      detail: message,
    };
  }
  return status >= 500
    ? { kind: "failed", message: "The server could not answer.", detail: message }
    : { kind: "refused", message: message };
}

/** Whether one thing is not there, or can't be: it was deleted, or the address with its id was cut off. */
export const isMissing = (error: Error | null): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 422);

import process from "node:process";
import { messageOf, RequestError, ServerError } from "../../model/errors.ts";

/** The database can't be reached, or the connection was lost. */
export class ConnectionLostError extends Error {
  /** Whether the connection was lost during a commit, so that the transaction may or may not have been committed. */
  readonly wasCommitting: boolean;

  constructor(message: string, { wasCommitting = false, ...options }: ConnectionLostOptions = {}) {
    super(message, options);
    this.name = "ConnectionLostError";
    this.wasCommitting = wasCommitting;
  }
}

interface ConnectionLostOptions extends ErrorOptions {
  readonly wasCommitting?: boolean;
}

/**
 * The code of an error: the SQLSTATE if PostgreSQL reported the error, or the code of a system error, such as
 * `ECONNRESET`. An empty string if the error has no code.
 */
export const codeOf = (cause: unknown): string => {
  const code: unknown =
    typeof cause === "object" && cause !== null ? Reflect.get(cause, "code") : undefined;
  return typeof code === "string" ? code : "";
};

/**
 * Codes after which the connection is closed: the server ends or restarts, or it became a standby and refuses writes.
 * Another host of the URL may accept them.
 */
const lostCodes = /^(?:08...|57P0[1-3]|25006|25P03)$/;

/** Codes of errors of Node's sockets, and messages of the driver without any code. */
const socketCodes = /^(?:ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
const driverMessages =
  /connection (?:terminated|error)|not queryable|read timeout|timeout expired|client was closed/i;

/** Whether an error means that the connection can no longer be used. */
export const isConnectionLost = (cause: unknown): boolean => {
  const code = codeOf(cause);
  return (
    cause instanceof ConnectionLostError ||
    lostCodes.test(code) ||
    socketCodes.test(code) ||
    (code === "" && driverMessages.test(messageOf(cause)))
  );
};

/**
 * Whether a transaction failed because of concurrent ones, so that it can succeed when it is repeated: a
 * serialization failure, a deadlock, or a unique key that another transaction has just inserted.
 */
export const isConflict = (cause: unknown): boolean =>
  /^(?:40001|40P01|23505)$/.test(codeOf(cause));

/** Seconds after which a client may try again while the database refuses the login of the server. */
const retryRefusedSeconds = 10;

/** Converts an error of PostgreSQL to the error of a request. */
export function toRequestError(cause: unknown): RequestError {
  if (cause instanceof RequestError) {
    return cause;
  }
  if (isConnectionLost(cause)) {
    const detail =
      cause instanceof ConnectionLostError && cause.wasCommitting
        ? "the connection to the database was lost while the change was committed, so it may or may not have been made: read the data before repeating the request"
        : "the database can't be reached; retry later";
    return new RequestError(503, detail, 1);
  }
  if (cause instanceof ServerError) {
    // The message names hosts, which a client need not know.
    process.emitWarning(cause.message);
    return new RequestError(
      503,
      "the database refuses the connection of this server; see the server's log for the reason",
      retryRefusedSeconds,
    );
  }
  const code = codeOf(cause);
  if (code === "57014") {
    return new RequestError(
      408,
      "the query took longer than the database allows, and was canceled: narrow it to a project or a shorter time range",
    );
  }
  if (code === "55P03" || isConflict(cause)) {
    return new RequestError(
      503,
      "other changes to the same data took too long; retry the request",
      1,
    );
  }
  if (code === "22021" || code === "22P05") {
    return new RequestError(
      422,
      "a text contains the character NUL (\\u0000), which this server's PostgreSQL store can't store: remove it",
    );
  }
  if (code.startsWith("53")) {
    return new RequestError(503, `the database has no free resources: ${messageOf(cause)}`, 5);
  }
  return new RequestError(503, `the database reported an error: ${messageOf(cause)}`, 1);
}

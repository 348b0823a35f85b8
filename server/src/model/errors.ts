/** Codes by which a caller of the server package can distinguish errors. */
export type ServerErrorCode =
  /** The port is in use, or the address is not one of this machine. */
  | "LISTEN"
  /** The data folder can't be created or written. */
  | "DATA_DIR"
  /** Another server uses the data folder. */
  | "DATA_DIR_IN_USE"
  /** The certificate or its key can't be read or used. */
  | "TLS"
  /** The key does not exist, or no key can be created for the tenant. */
  | "KEY"
  /** A backup can't be written or read. */
  | "BACKUP"
  /** The ingest log can't be reached, or NATS denies a permission or a setting that Millrace needs. */
  | "LOG"
  /** PostgreSQL can't be used as the store: it refuses the connection, or its tables have another format. */
  | "STORE"
  /** A thread of the server ended, or did not start in time. */
  | "THREAD";

/** The server could not start, or ended by itself. The message gives the reason. */
export class ServerError extends Error {
  readonly code: ServerErrorCode;

  constructor(code: ServerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ServerError";
    this.code = code;
  }
}

/** Thrown for a request that can't be served. `status` is the HTTP status of the response. */
export class RequestError extends Error {
  readonly status: number;
  /** Seconds after which the same request may succeed. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, detail: string, retryAfterSeconds?: number) {
    super(detail);
    this.name = "RequestError";
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * Creates the error of a request that would exceed a maximum.
 *
 * @param owner - what has the maximum, such as "project"
 * @param maximum - the maximum, such as "50 rules"
 */
export const createMaximumError = (owner: string, maximum: string): RequestError =>
  new RequestError(
    409,
    `The ${owner} already has the maximum of ${maximum}. Delete one that is no longer needed.`,
  );

/** The message of anything that was thrown. */
export const messageOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);

/** What a caller of the server package can switch on. */
export type ServerErrorCode =
  /** The port is taken, or the address is not this machine's. */
  | "LISTEN"
  /** The data folder can't be made, or not be written. */
  | "DATA_DIR"
  /** Another server works on the data folder. */
  | "DATA_DIR_IN_USE"
  /** There is no such key, or none can be made for that tenant. */
  | "KEY"
  /** A thread of the server ended, or did not start in time. */
  | "THREAD";

/** The server could not start, or ended by itself. The message names the fault. */
export class ServerError extends Error {
  readonly code: ServerErrorCode;

  constructor(code: ServerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ServerError";
    this.code = code;
  }
}

/** A request that can't be served; becomes an answer with this status. */
export class RequestError extends Error {
  readonly status: number;
  /** Seconds after which the same request may pass. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, detail: string, retryAfterSeconds?: number) {
    super(detail);
    this.name = "RequestError";
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The text of whatever was thrown. */
export const messageOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);

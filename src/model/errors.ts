import { extractDetail } from "./error-detail.ts";
import { toPrintable } from "./printable-text.ts";
import type { UploadResult } from "./resources/upload.ts";

/** Error codes for use in `switch` statements. */
export type ErrorCode =
  | "OPTION"
  | "VALIDATION"
  | "CLOSED"
  | "HTTP"
  | "NOT_FOUND"
  | "CONFLICT"
  | "INSUFFICIENT_QUOTA"
  | "ANSWER"
  | "NETWORK"
  | "TIMEOUT"
  | "ABORTED"
  | "CERTIFICATE"
  | "INCOMPLETE"
  | "UPLOAD"
  | "WORKER";

/** Options of every error. */
export interface SdkErrorOptions extends ErrorOptions {
  /** Value of the header `x-request-id` of the request. */
  readonly requestId?: string | undefined;
}

/** Base class of all errors that this package throws or reports. */
export abstract class SdkError extends Error {
  abstract readonly code: ErrorCode;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean = false;
  /** The id of the request in the server's logs; `undefined` if the error does not belong to a request with an id. */
  readonly requestId: string | undefined;

  constructor(message: string, options: SdkErrorOptions = {}) {
    // Each text from a server was already converted to one line (see `extractDetail`), so the line breaks in `message`
    // were added by this package.
    super(
      message
        .split("\n")
        .map((line) => toPrintable(line))
        .join("\n"),
      options,
    );
    this.name = new.target.name;
    this.requestId = options.requestId;
  }
}

/**
 * An option has an invalid value. Thrown when a client or server is created, or by a call that the options or the
 * environment variables do not allow.
 */
export class OptionError extends SdkError {
  readonly code = "OPTION";
}

/**
 * An argument is invalid. Thrown before anything is sent, unless the argument is a file, a stream or an iterable that
 * is read while it is sent.
 */
export class ValidationError extends SdkError {
  readonly code = "VALIDATION";
}

/** The call was made after the client was closed. */
export class ClosedError extends SdkError {
  readonly code = "CLOSED";
}

/** The response that an {@link HttpError} is created from. */
export interface HttpErrorInit extends SdkErrorOptions {
  /** The attempted action, such as `send runs`. */
  readonly action: string;
  readonly status: number;
  readonly body: string;
  /** Replaces the default message. */
  readonly message?: string | undefined;
}

/** The server responded with a status other than 2xx. */
export class HttpError extends SdkError {
  readonly code: ErrorCode = "HTTP";
  readonly status: number;
  /** The reason for the failure, as the server gives it; empty if it gives none. */
  readonly detail: string;
  override readonly retryable: boolean;

  constructor({ action, status, body, message, ...options }: HttpErrorInit) {
    const detail = extractDetail(body);
    super(message ?? `Failed to ${action}: ${status} ${detail}`.trimEnd(), options);
    this.status = status;
    this.detail = detail;
    this.retryable = mayBeTemporary(status);
  }
}

/** The resource does not exist, or the API key has no access to it: status 404. */
export class NotFoundError extends HttpError {
  override readonly code = "NOT_FOUND";
}

/** The request conflicts with existing data, such as a name that already exists: status 409. */
export class ConflictError extends HttpError {
  override readonly code = "CONFLICT";
}

/** The server reports, in LangSmith's format, that the account's quota is used up. Never retried. */
export class InsufficientQuotaError extends HttpError {
  override readonly code = "INSUFFICIENT_QUOTA";
  override readonly retryable = false;
}

/**
 * The server responded with 2xx, but the content is unexpected: not JSON, incomplete, or too large.
 */
export class ResponseError extends SdkError {
  readonly code = "ANSWER";
}

/** No response was received: the connection could not be established, or broke. */
export class NetworkError extends SdkError {
  readonly code = "NETWORK";
  override readonly retryable = true;
}

/** No response was received within the timeout of one attempt. */
export class TimeoutError extends SdkError {
  readonly code = "TIMEOUT";
  override readonly retryable = true;
}

/** The call was aborted by the caller's signal, whose reason is the `cause`. */
export class AbortError extends SdkError {
  readonly code = "ABORTED";
}

/**
 * The server's certificate is not trusted. Never retried, and never replaced by an unencrypted
 * connection.
 */
export class CertificateError extends SdkError {
  readonly code = "CERTIFICATE";
}

/** Fields of an {@link IncompleteError}. */
export interface IncompleteErrorInit extends SdkErrorOptions {
  readonly cause: unknown;
  readonly doneIds: readonly string[];
  readonly openIds: readonly string[];
  readonly datasetId?: string | undefined;
}

/**
 * A call that consists of several requests failed after some of them succeeded. The error lists what was done. Its
 * `cause` is the failure.
 */
export class IncompleteError extends SdkError {
  readonly code = "INCOMPLETE";
  /** Ids of the resources that the call created, changed or deleted, in the order in which they were passed. */
  readonly doneIds: readonly string[];
  /** Ids in requests that got no successful response. Ids that are neither here nor in `doneIds` were not sent. */
  readonly openIds: readonly string[];
  /** The dataset that the call created. */
  readonly datasetId: string | undefined;

  constructor(message: string, { doneIds, openIds, datasetId, ...options }: IncompleteErrorInit) {
    super(message, options);
    this.doneIds = doneIds;
    this.openIds = openIds;
    this.datasetId = datasetId;
  }
}

/** Fields of an {@link UploadError}. */
export interface UploadErrorInit extends SdkErrorOptions {
  readonly cause: unknown;
  readonly result: UploadResult;
}

/**
 * An upload ended before the end of its source. The error's `result` contains the counts until then; the error's
 * `cause` is the reason.
 */
export class UploadError extends SdkError {
  readonly code = "UPLOAD";
  /** The counts until the upload ended. Rows that are not counted were not sent, or got no response. */
  readonly result: UploadResult;

  constructor(message: string, { result, ...options }: UploadErrorInit) {
    super(message, options);
    this.result = result;
  }
}

/**
 * The worker thread of `client.sync` could not start, or ended during the call. The next call starts a new worker
 * thread.
 */
export class WorkerError extends SdkError {
  readonly code = "WORKER";
  override readonly retryable = true;
}

/** All error classes, for recreating errors that come from another thread. */
export const errorClasses: readonly (new (...args: never[]) => SdkError)[] = [
  AbortError,
  ResponseError,
  CertificateError,
  ClosedError,
  ConflictError,
  HttpError,
  IncompleteError,
  InsufficientQuotaError,
  NetworkError,
  NotFoundError,
  OptionError,
  TimeoutError,
  UploadError,
  ValidationError,
  WorkerError,
];

/**
 * Whether sending the same request again is pointless after a response with this status. LangSmith uses 400 to 407, 409
 * and 410 in this way; 410 means that the address no longer exists.
 */
export const isFinalStatus = (status: number): boolean =>
  (status >= 400 && status <= 407) || status === 409 || status === 410;

const temporaryStatuses = new Set([408, 425, 429]);

/**
 * Whether the same call may succeed later. After a redirect it would fail again, because redirects are not followed.
 * After most 4xx statuses it would fail again too, because they concern the request itself; these include statuses that
 * {@link isFinalStatus} does not list, such as 413 and 422.
 */
const mayBeTemporary = (status: number): boolean => status >= 500 || temporaryStatuses.has(status);

/**
 * Whether a response reports that the account's quota is used up: its status is 402 or 429, and its body contains the
 * error code `insufficient_quota`.
 */
export const isInsufficientQuota = (status: number, body: string): boolean =>
  (status === 402 || status === 429) && body.includes("insufficient_quota");

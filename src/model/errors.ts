import { detailOf } from "./error-detail.ts";
import { toPrintable } from "./printable-text.ts";
import type { UploadResult } from "./resources/upload.ts";

/** What a caller can switch on. */
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

/** What every error can be made with. */
export interface SdkErrorOptions extends ErrorOptions {
  /** The value of the header `x-request-id` that the call was sent with. */
  readonly requestId?: string | undefined;
}

/** The family of every error this package throws or reports. */
export abstract class SdkError extends Error {
  abstract readonly code: ErrorCode;
  /** Whether the same call may succeed later without a change. */
  readonly retryable: boolean = false;
  /** The id of the request in the logs of the server; `undefined` where no request was sent. */
  readonly requestId: string | undefined;

  constructor(message: string, options: SdkErrorOptions = {}) {
    // What it repeats of a server is one line each, see detailOf; other line ends are the message's own.
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

/** An option was given a value it can't have; thrown when a client or server is made. */
export class OptionError extends SdkError {
  readonly code = "OPTION";
}

/** An argument is not what the call takes; thrown before anything is sent. */
export class ValidationError extends SdkError {
  readonly code = "VALIDATION";
}

/** The client was closed before the call. */
export class ClosedError extends SdkError {
  readonly code = "CLOSED";
}

/** What an error is made of where the server answered. */
export interface HttpErrorInit extends SdkErrorOptions {
  /** What was attempted, such as `send runs`. */
  readonly action: string;
  readonly status: number;
  readonly body: string;
  /** In place of the message made of the three. */
  readonly message?: string | undefined;
}

/** The server answered, and the answer was not 2xx. */
export class HttpError extends SdkError {
  readonly code: ErrorCode = "HTTP";
  readonly status: number;
  /** The server's reason; empty where it gave none. */
  readonly detail: string;
  override readonly retryable: boolean;

  constructor({ action, status, body, message, ...options }: HttpErrorInit) {
    const detail = detailOf(body);
    super(message ?? `Failed to ${action}: ${status} ${detail}`.trimEnd(), options);
    this.status = status;
    this.detail = detail;
    this.retryable = mayPass(status);
  }
}

/** There is no such thing, or none that this key can see: status 404. */
export class NotFoundError extends HttpError {
  override readonly code = "NOT_FOUND";
}

/** What is there stands against it, such as a name that is taken: status 409. */
export class ConflictError extends HttpError {
  override readonly code = "CONFLICT";
}

/** The account may not send more (specification, section 8). Never retried. */
export class InsufficientQuotaError extends HttpError {
  override readonly code = "INSUFFICIENT_QUOTA";
  override readonly retryable = false;
}

/** The server answered 2xx, and the answer is not what the call answers: no JSON, a part missing, too large. */
export class ResponseError extends SdkError {
  readonly code = "ANSWER";
}

/** No answer: the connection could not be made, or broke. */
export class NetworkError extends SdkError {
  readonly code = "NETWORK";
  override readonly retryable = true;
}

/** No answer within the time of one try. */
export class TimeoutError extends SdkError {
  readonly code = "TIMEOUT";
  override readonly retryable = true;
}

/** The caller's signal ended the call; the signal's reason is the `cause`. */
export class AbortError extends SdkError {
  readonly code = "ABORTED";
}

/** The server's certificate can't be trusted: final, and never answered by sending in the clear. */
export class CertificateError extends SdkError {
  readonly code = "CERTIFICATE";
}

/** What {@link IncompleteError} is made of. */
export interface IncompleteErrorInit extends SdkErrorOptions {
  readonly cause: unknown;
  readonly doneIds: readonly string[];
  readonly openIds: readonly string[];
  readonly datasetId?: string | undefined;
}

/** A call that takes several requests failed after some of them: what it left behind is named; why is its `cause`. */
export class IncompleteError extends SdkError {
  readonly code = "INCOMPLETE";
  /** What was created, changed or deleted, in the order given. */
  readonly doneIds: readonly string[];
  /** What was sent and not answered with success. The rest was not sent. */
  readonly openIds: readonly string[];
  /** The dataset that the call made. */
  readonly datasetId: string | undefined;

  constructor(message: string, { doneIds, openIds, datasetId, ...options }: IncompleteErrorInit) {
    super(message, options);
    this.doneIds = doneIds;
    this.openIds = openIds;
    this.datasetId = datasetId;
  }
}

/** What {@link UploadError} is made of. */
export interface UploadErrorInit extends SdkErrorOptions {
  readonly cause: unknown;
  readonly result: UploadResult;
}

/** An upload ended before its source did: what it did until then is its `result`, why is its `cause`. */
export class UploadError extends SdkError {
  readonly code = "UPLOAD";
  /** The rows that are not counted in it were not sent, or not answered. */
  readonly result: UploadResult;

  constructor(message: string, { result, ...options }: UploadErrorInit) {
    super(message, options);
    this.result = result;
  }
}

/** The thread behind `client.sync` could not start, or ended during the call; the next call starts another. */
export class WorkerError extends SdkError {
  readonly code = "WORKER";
  override readonly retryable = true;
}

/** Every class: what comes from another thread becomes an error of its class again. */
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
 * The product's rule (specification, section 8): 400 to 407 and 409 are final; 410 means that the
 * address is gone for good; everything else may pass.
 */
export const isFinalStatus = (status: number): boolean =>
  (status >= 400 && status <= 407) || status === 409 || status === 410;

const passing = new Set([408, 425, 429]);

/**
 * Whether the same call may get another answer later. Beside what is final by the product's rule, the
 * rest of 4xx (413, 422, ...) is about the request itself, and a redirect is not followed.
 */
const mayPass = (status: number): boolean => status >= 500 || passing.has(status);

/** Whether a response reports that the account's quota is used up: status 402 or 429 and the code in the body. */
export const isInsufficientQuota = (status: number, body: string): boolean =>
  (status === 402 || status === 429) && body.includes("insufficient_quota");

import { detailOf } from "./error-detail.ts";

/** What a caller can switch on. */
export type ErrorCode =
  | "OPTION"
  | "VALIDATION"
  | "CLOSED"
  | "HTTP"
  | "INSUFFICIENT_QUOTA"
  | "NETWORK"
  | "TIMEOUT"
  | "CERTIFICATE";

/** The family of every error this package throws or reports. */
export abstract class SdkError extends Error {
  abstract readonly code: ErrorCode;
  /** Whether the same call may succeed later without a change. */
  readonly retryable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
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

export interface HttpErrorInit {
  /** What was attempted, such as `send runs`. */
  readonly action: string;
  readonly status: number;
  readonly body: string;
}

/** The server answered, and the answer was not 2xx. */
export class HttpError extends SdkError {
  readonly code: ErrorCode = "HTTP";
  readonly status: number;
  override readonly retryable: boolean;

  constructor({ action, status, body }: HttpErrorInit) {
    super(`Failed to ${action}: ${status} ${detailOf(body)}`.trimEnd());
    this.status = status;
    this.retryable = !isFinalStatus(status);
  }
}

/** The account may not send more (specification, section 8). Never retried. */
export class InsufficientQuotaError extends HttpError {
  override readonly code = "INSUFFICIENT_QUOTA";
  override readonly retryable = false;
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

/** The server's certificate can't be trusted: final, and never answered by sending in the clear. */
export class CertificateError extends SdkError {
  readonly code = "CERTIFICATE";
}

/**
 * The product's rule (specification, section 8): 400 to 407 and 409 are final; 410 means that the
 * address is gone for good; everything else may pass.
 */
export const isFinalStatus = (status: number): boolean =>
  (status >= 400 && status <= 407) || status === 409 || status === 410;

/** Whether an answer says that the account's quota is used up: status 402 or 429 and the code in the body. */
export const isInsufficientQuota = (status: number, body: string): boolean =>
  (status === 402 || status === 429) && body.includes("insufficient_quota");

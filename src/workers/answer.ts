import {
  CertificateError,
  HttpError,
  InsufficientQuotaError,
  NetworkError,
  TimeoutError,
  isFinalStatus,
  isInsufficientQuota,
} from "../model/errors.ts";
import type { SdkError } from "../model/errors.ts";
import type { Outcome, Rejection } from "./sink.ts";

/** What came back for one request. */
export interface Answer {
  readonly status: number;
  /** The value of `Retry-After`, if any. */
  readonly retryAfter?: string | undefined;
  readonly body: string;
}

/** Answers that speak of the server, not of the batch: it is away or has too much to do. */
const awayStatuses = new Set([429, 502, 503, 504]);

/** What an answer means for the runs that were sent. */
export function judgeAnswer(action: string, answer: Answer, now: number): Outcome {
  const { status, body } = answer;
  if (status >= 200 && status < 300) {
    return { kind: "delivered" };
  }
  if (isInsufficientQuota(status, body)) {
    return rejected(new InsufficientQuotaError({ action, status, body }), status);
  }
  if (status === 409) {
    // Received before: an earlier try arrived though its answer did not.
    return { kind: "delivered" };
  }
  const error = new HttpError({ action, status, body });
  if (isFinalStatus(status) || status === 413 || status === 422 || status < 400) {
    return rejected(error, status);
  }
  const afterMs = retryAfterMs(answer.retryAfter, now);
  return {
    kind: "retry",
    reason: error.message,
    away: awayStatuses.has(status),
    ...(afterMs === undefined ? {} : { afterMs }),
  };
}

/** What a failure to get an answer means for the runs that were sent. */
export function judgeFailure(action: string, failure: unknown): Outcome {
  const error = toError(action, failure);
  return error.retryable ? { kind: "retry", reason: error.message, away: true } : rejected(error);
}

/** Milliseconds of a `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3); never negative. */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) {
    return Number(text) * 1_000;
  }
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const certificateCodes =
  /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|ERR_TLS_CERT|INVALID_CA|HOSTNAME_MISMATCH|INVALID_PURPOSE)/;

const timeoutCodes = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "ETIMEDOUT",
]);

function toError(action: string, failure: unknown): SdkError {
  const { name, code, message } = factsOf(failure);
  const text = `Failed to ${action}: ${[code, message].filter((part) => part !== "").join(" ")}`;
  const options = { cause: failure };
  if (certificateCodes.test(code)) {
    return new CertificateError(
      `${text}. The server's certificate can't be trusted; pass its authority as the option ca.`,
      options,
    );
  }
  if (timeoutCodes.has(code) || name === "TimeoutError") {
    return new TimeoutError(text, options);
  }
  return new NetworkError(text, options);
}

function factsOf(failure: unknown): { name: string; code: string; message: string } {
  if (!(failure instanceof Error)) {
    return { name: "", code: "", message: String(failure) };
  }
  const inner = failure instanceof AggregateError ? failure.errors.find(isError) : undefined;
  const code = "code" in failure ? String(failure.code) : "";
  return { name: failure.name, code, message: (inner ?? failure).message };
}

const isError = (value: unknown): value is Error => value instanceof Error;

const rejected = (error: SdkError, status?: number): Outcome => ({
  kind: "rejected",
  rejection: rejectionOf(error, status),
});

const rejectionOf = (error: SdkError, status: number | undefined): Rejection => ({
  code: error.code,
  message: error.message,
  ...(status === undefined ? {} : { status }),
});

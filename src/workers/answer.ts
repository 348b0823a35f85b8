import {
  CertificateError,
  HttpError,
  InsufficientQuotaError,
  NetworkError,
  OptionError,
  TimeoutError,
  isFinalStatus,
  isInsufficientQuota,
} from "../model/errors.ts";
import type { SdkError } from "../model/errors.ts";
import { certificateHint } from "./certificate-hint.ts";
import { ProxyRefusal } from "./proxy-refusal.ts";
import type { Outcome, Rejection } from "./sink.ts";

/** What came back for one request. */
export interface Answer {
  readonly status: number;
  /** The value of `Retry-After`, if any. */
  readonly retryAfter?: string | undefined;
  /** Where a redirect points. */
  readonly location?: string | undefined;
  /** Empty where it could not be read: the status counts all the same. */
  readonly body: string;
}

/** Answers that speak of the server, not of the batch: it is away or has too much to do. */
const awayStatuses = new Set([429, 502, 503, 504]);

/** What an answer means for the runs that were sent; `now` is milliseconds since the Unix epoch. */
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
  if (status < 400) {
    return rejected(new HttpError({ action, status, body: redirectText(answer) }), status);
  }
  const error = new HttpError({ action, status, body });
  if (isFinalStatus(status) || status === 413 || status === 422) {
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
  if (failure instanceof ProxyRefusal) {
    return judgeAnswer(`${action} through the proxy`, { status: failure.status, body: "" }, 0);
  }
  const error = toError(action, failure);
  return error.retryable ? { kind: "retry", reason: error.message, away: true } : rejected(error);
}

/** Milliseconds of a `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3); never negative. */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) {
    return Number(text) * 1_000;
  }
  // Only a date in the form of HTTP: Date.parse finds dates in all kinds of text.
  const date = /^[a-z]{3,9}, .* GMT$/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const timeoutCodes = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "ETIMEDOUT",
]);

function toError(action: string, failure: unknown): SdkError {
  const { names, codes, message } = factsOf(failure);
  const [code = ""] = codes;
  const text = `Failed to ${action}: ${message.includes(code) ? "" : `${code} `}${message}`;
  const options = { cause: failure };
  const hint = codes.map(certificateHint).find((found) => found !== undefined);
  if (hint !== undefined) {
    return new CertificateError(`${text}. ${hint}`, options);
  }
  if (codes.includes("UND_ERR_INVALID_ARG")) {
    // Such as a header that can't be sent: no later try is different.
    return new OptionError(text, options);
  }
  if (codes.some((one) => timeoutCodes.has(one)) || names.includes("TimeoutError")) {
    return new TimeoutError(text, options);
  }
  return new NetworkError(text, options);
}

interface FailureFacts {
  readonly names: readonly string[];
  readonly codes: readonly string[];
  readonly message: string;
}

/** Names and codes of an error, of what it was made of and of its causes; the first message that says something. */
function factsOf(failure: unknown): FailureFacts {
  const errors = chainOf(failure);
  const messages = errors.map(textOf).filter((message) => message !== "");
  return {
    names: errors.map(({ name }) => name),
    codes: errors.flatMap((error) => ("code" in error ? [String(error.code)] : [])),
    message: messages[0] ?? (errors.length === 0 ? String(failure) : "no reason given"),
  };
}

/** OpenSSL's own messages are lists of places in its source; the reason beside them is the text. */
const textOf = (error: Error): string =>
  "library" in error && "reason" in error ? String(error.reason) : error.message.trim();

/** Longest chain of causes that is followed: a cause can be its own. */
const causeLimit = 5;

function chainOf(failure: unknown, depth = 0): readonly Error[] {
  if (!(failure instanceof Error) || depth > causeLimit) {
    return [];
  }
  // Connecting to a name that has several addresses fails with one error for each.
  const inner: readonly unknown[] = failure instanceof AggregateError ? failure.errors : [];
  return [failure, ...[...inner, failure.cause].flatMap((one) => chainOf(one, depth + 1))];
}

const redirectText = ({ location }: Answer): string =>
  [
    ...(location === undefined ? [] : [`to ${location.slice(0, 200)}`]),
    "(redirects are not followed; set the endpoint to where the server is)",
  ].join(" ");

const rejected = (error: SdkError, status?: number): Outcome => ({
  kind: "rejected",
  rejection: rejectionOf(error, status),
});

const rejectionOf = (error: SdkError, status: number | undefined): Rejection => ({
  code: error.code,
  message: error.message,
  ...(status === undefined ? {} : { status }),
});

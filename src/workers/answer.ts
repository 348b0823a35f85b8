import { isOk, redirectText } from "../connection/answer.ts";
import type { Answer } from "../connection/answer.ts";
import { toError } from "../connection/failure.ts";
import { ProxyRefusal } from "../connection/proxy-refusal.ts";
import {
  HttpError,
  InsufficientQuotaError,
  isFinalStatus,
  isInsufficientQuota,
} from "../model/errors.ts";
import type { SdkError } from "../model/errors.ts";
import { retryAfterMs } from "../model/retry-wait.ts";
import type { Outcome, Rejection } from "./sink.ts";

/** Answers that speak of the server, not of the batch: it is away or has too much to do. */
const awayStatuses = new Set([429, 502, 503, 504]);

/**
 * A web page is no answer of a server of runs, whatever its status: a login page, a captive portal, or the
 * address of something else.
 */
export const isPage = (body: string): boolean => /^\s*<(?:!doctype|html|head|body)\b/i.test(body);

/** What an answer means for the runs that were sent; `now` is milliseconds since the Unix epoch. */
export function judgeAnswer(action: string, answer: Answer, now: number): Outcome {
  const { status, body } = answer;
  if (isOk(status)) {
    return isPage(body)
      ? {
          kind: "retry",
          reason: `Failed to ${action}: ${status} with a web page, which no server of runs answers`,
          code: "ANSWER",
          status,
          away: true,
        }
      : { kind: "delivered" };
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
    code: error.code,
    status,
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
  return error.retryable
    ? { kind: "retry", reason: error.message, code: error.code, away: true }
    : rejected(error);
}

const rejected = (error: SdkError, status?: number): Outcome => ({
  kind: "rejected",
  rejection: rejectionOf(error, status),
});

const rejectionOf = (error: SdkError, status: number | undefined): Rejection => ({
  code: error.code,
  message: error.message,
  ...(status === undefined ? {} : { status }),
});

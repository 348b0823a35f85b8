import { isInsufficientQuota } from "../model/errors.ts";
import { formatRedirect } from "./response.ts";
import type { HttpResponse } from "./response.ts";
import { parseRetryAfter } from "./retry.ts";

/** The meaning of an error response. API calls and the delivery of runs both use it, and each decides how to react. */
export interface ErrorResponse {
  readonly status: number;
  /** The body, or the target of a redirect. */
  readonly detail: string;
  readonly isQuotaExceeded: boolean;
  /** The wait that the server requested with `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Whether the server is unavailable or overloaded, so that the same request may succeed later. */
  readonly isUnavailable: boolean;
  /** Whether the server refused the request without processing it. */
  readonly isUnprocessed: boolean;
  /** Whether the server may have processed the request although it reports a failure. */
  readonly mayHaveTakenEffect: boolean;
}

const unavailableStatuses = new Set([429, 502, 503, 504]);

/** Classifies a response whose status is not 2xx. `now` is in milliseconds since the Unix epoch. */
export function classifyErrorResponse(response: HttpResponse, now: number): ErrorResponse {
  const { status, body, retryAfter } = response;
  const retryAfterMs = parseRetryAfter(retryAfter, now);
  return {
    status,
    detail: status < 400 ? formatRedirect(response) : body,
    isQuotaExceeded: isInsufficientQuota(status, body),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    isUnavailable: unavailableStatuses.has(status),
    isUnprocessed: status === 429 || (status === 503 && retryAfter !== undefined),
    mayHaveTakenEffect: status >= 500,
  };
}

import { isOk, redirectText } from "../../transport/response.ts";
import type { HttpResponse } from "../../transport/response.ts";
import { toError, ProxyRefusal } from "../../transport/failure.ts";
import {
  HttpError,
  InsufficientQuotaError,
  isFinalStatus,
  isInsufficientQuota,
} from "../../model/errors.ts";
import type { SdkError } from "../../model/errors.ts";
import { retryAfterMs } from "../../model/records/retry-wait.ts";
import type { Outcome, Rejection, Batch, BatchResult } from "./sink.ts";

/** Answers that speak of the server, not of the batch: it is away or has too much to do. */
const awayStatuses = new Set([429, 502, 503, 504]);

/**
 * A web page is no answer of a server of runs, whatever its status: a login page, a captive portal, or the
 * address of something else.
 */
export const isPage = (body: string): boolean => /^\s*<(?:!doctype|html|head|body)\b/i.test(body);

/** What an answer means for the runs that were sent; `now` is milliseconds since the Unix epoch. */
export function classifyResponse(action: string, response: HttpResponse, now: number): Outcome {
  const { status, body } = response;
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
    return rejected(new HttpError({ action, status, body: redirectText(response) }), status);
  }
  const error = new HttpError({ action, status, body });
  if (isFinalStatus(status) || status === 413 || status === 422) {
    return rejected(error, status);
  }
  const afterMs = retryAfterMs(response.retryAfter, now);
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
export function classifyFailure(action: string, failure: unknown): Outcome {
  if (failure instanceof ProxyRefusal) {
    return classifyResponse(`${action} through the proxy`, { status: failure.status, body: "" }, 0);
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

/** Longest reason that is repeated, in UTF-16 units. */
const reasonExcerpt = 500;

/**
 * What an answer means for each run of a batch. Our server takes the good runs of a batch and lists
 * the bad ones in its answer; one that has no good runs is a 422 with the same list.
 */
export function classifyBatch(batch: Batch, action: string, response: HttpResponse): Outcome {
  const outcome = classifyResponse(action, response, Date.now());
  const refused =
    outcome.kind === "delivered" || response.status === 422 ? refusedRuns(response.body) : none;
  if (refused.size === 0) {
    return outcome;
  }
  const bad = batch.runs.filter(({ id }) => refused.has(id));
  const good = batch.runs.filter(({ id }) => !refused.has(id));
  if (bad.length === 0 || (outcome.kind !== "delivered" && good.length > 0)) {
    return outcome;
  }
  const parts = bad.map((run): BatchResult => {
    const message = `Failed to ${action}: ${refused.get(run.id) ?? ""}`;
    const rejection = { code: "HTTP" as const, status: 422, message };
    return { batch: batch.part([run]), outcome: { kind: "rejected", rejection } };
  });
  return {
    kind: "mixed",
    parts: good.length === 0 ? parts : [{ batch: batch.part(good), outcome }, ...parts],
  };
}

const none: ReadonlyMap<string, string> = new Map();

/** The ids and reasons of `{"rejected":[{"id","reason"}]}`; of any other answer none. */
function refusedRuns(body: string): ReadonlyMap<string, string> {
  if (!body.includes('"rejected"')) {
    return none;
  }
  const answer = parseJson(body);
  const list: unknown =
    typeof answer === "object" && answer !== null && "rejected" in answer ? answer.rejected : [];
  const refused = new Map<string, string>();
  for (const item of Array.isArray(list) ? (list as readonly unknown[]) : []) {
    if (typeof item === "object" && item !== null && "id" in item && "reason" in item) {
      refused.set(String(item.id), String(item.reason).slice(0, reasonExcerpt));
    }
  }
  return refused;
}

/** The parsed JSON; `undefined` where the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A 2xx response without JSON counts as delivered: a proxy's page, or an empty body.
    return undefined;
  }
}

import { classifyErrorResponse } from "../../transport/classify-response.ts";
import { isOk } from "../../transport/response.ts";
import type { HttpResponse } from "../../transport/response.ts";
import { toError, ProxyRefusal } from "../../transport/failure.ts";
import { HttpError, InsufficientQuotaError, isFinalStatus } from "../../model/errors.ts";
import type { SdkError } from "../../model/errors.ts";
import type { Outcome, Rejection, Batch, BatchResult } from "./sink.ts";

/**
 * Whether a body is a web page. A server that has accepted runs never responds with one: the response comes from a login
 * page, a captive portal, or a different service at this address. If the status says that the request failed, the status
 * decides, because a proxy in front of the server explains its own errors with a page.
 */
export const isWebPage = (body: string): boolean =>
  /^\s*<(?:!doctype|html|head|body)\b/i.test(body);

/**
 * Converts a response to the outcome of the runs that were sent. `now` is milliseconds since the
 * Unix epoch.
 */
export function classifyResponse(action: string, response: HttpResponse, now: number): Outcome {
  const { status, body } = response;
  // With 409, the server has the runs already: an earlier attempt arrived although its response was lost.
  const isDelivered = isOk(status) || status === 409;
  if (isDelivered && isWebPage(body)) {
    return {
      kind: "retry",
      reason: `Failed to ${action}: ${status} with a web page instead of a response to runs. Check the endpoint`,
      code: "ANSWER",
      status,
      isServerUnavailable: true,
    };
  }
  if (isDelivered) {
    return { kind: "delivered" };
  }
  const { detail, retryAfterMs, isQuotaExceeded, isUnavailable } = classifyErrorResponse(
    response,
    now,
  );
  if (isQuotaExceeded) {
    return createRejected(new InsufficientQuotaError({ action, status, body }), status);
  }
  const error = new HttpError({ action, status, body: detail });
  if (status < 400 || isFinalStatus(status) || status === 413 || status === 422) {
    return createRejected(error, status);
  }
  return {
    kind: "retry",
    reason: error.message,
    code: error.code,
    status,
    isServerUnavailable: isUnavailable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Converts a failed request without a response to the outcome of the runs that were sent. */
export function classifyFailure(action: string, failure: unknown): Outcome {
  if (failure instanceof ProxyRefusal) {
    return classifyResponse(`${action} through the proxy`, { status: failure.status, body: "" }, 0);
  }
  const error = toError(action, failure);
  return error.retryable
    ? { kind: "retry", reason: error.message, code: error.code, isServerUnavailable: true }
    : createRejected(error);
}

const createRejected = (error: SdkError, status?: number): Outcome => ({
  kind: "rejected",
  rejection: createRejection(error, status),
});

const createRejection = (error: SdkError, status: number | undefined): Rejection => ({
  code: error.code,
  message: error.message,
  ...(status === undefined ? {} : { status }),
});

/** In error messages, the server's reason for rejecting a run is truncated to this many UTF-16 code units. */
const maxReasonLength = 500;

/**
 * Converts a response to the outcome of each run of a batch. Millrace's server accepts the valid runs of a batch and
 * lists the invalid ones in its response. If no run is valid, the status is 422, and the response contains the same
 * kind of list.
 */
export function classifyBatch(batch: Batch, action: string, response: HttpResponse): Outcome {
  const responseOutcome = classifyResponse(action, response, Date.now());
  const { refusalReasons, existing } =
    responseOutcome.kind === "delivered" || response.status === 422
      ? parseIngestResult(response)
      : emptyIngestResult;
  const outcome: Outcome =
    responseOutcome.kind === "delivered" && existing > 0
      ? { kind: "delivered", existing }
      : responseOutcome;
  if (refusalReasons.size === 0) {
    return outcome;
  }
  const refusedRuns = batch.runs.filter(({ id }) => refusalReasons.has(id));
  const acceptedRuns = batch.runs.filter(({ id }) => !refusalReasons.has(id));
  if (refusedRuns.length === 0 || (outcome.kind !== "delivered" && acceptedRuns.length > 0)) {
    return outcome;
  }
  const parts = refusedRuns.map((run): BatchResult => {
    const message = `Failed to ${action}: ${refusalReasons.get(run.id) ?? ""}`;
    const rejection = { code: "HTTP" as const, status: 422, message };
    return { batch: batch.withRuns([run]), outcome: { kind: "rejected", rejection } };
  });
  return {
    kind: "mixed",
    parts:
      acceptedRuns.length === 0
        ? parts
        : [{ batch: batch.withRuns(acceptedRuns), outcome }, ...parts],
  };
}

/** What a server reports about a batch. */
interface IngestResult {
  /** Reasons by the id of the rejected run. */
  readonly refusalReasons: ReadonlyMap<string, string>;
  /** Number of records that the server already had. */
  readonly existing: number;
}

const emptyIngestResult: IngestResult = { refusalReasons: new Map(), existing: 0 };

/**
 * Reads the body `{"duplicates", "rejected":[{"id","reason"}]}`. Returns an empty result for any other body. A response
 * with status 409 is about one record, which the server already had.
 */
function parseIngestResult({ status, body }: HttpResponse): IngestResult {
  if (status === 409) {
    return { ...emptyIngestResult, existing: 1 };
  }
  if (!body.includes('"rejected"')) {
    return emptyIngestResult;
  }
  const parsed = parseJson(body);
  if (typeof parsed !== "object" || parsed === null) {
    return emptyIngestResult;
  }
  const list: unknown = "rejected" in parsed ? parsed.rejected : [];
  const existing = "duplicates" in parsed ? parsed.duplicates : 0;
  const refusalReasons = new Map<string, string>();
  for (const item of Array.isArray(list) ? (list as readonly unknown[]) : []) {
    if (typeof item === "object" && item !== null && "id" in item && "reason" in item) {
      refusalReasons.set(String(item.id), String(item.reason).slice(0, maxReasonLength));
    }
  }
  return { refusalReasons, existing: typeof existing === "number" ? existing : 0 };
}

/** Parses JSON; `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Runs count as delivered even if the 2xx response is not JSON, for example if its body is empty.
    return undefined;
  }
}

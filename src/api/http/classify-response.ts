import { classifyErrorResponse } from "../../transport/classify-response.ts";
import { isOk } from "../../transport/response.ts";
import type { HttpResponse } from "../../transport/response.ts";
import { isTooLarge, isUnsent, toError, ProxyRefusal } from "../../transport/failure.ts";
import type { Endpoint } from "../../model/endpoints.ts";
import { extractDetail } from "../../model/error-detail.ts";
import {
  ResponseError,
  ConflictError,
  HttpError,
  InsufficientQuotaError,
  NotFoundError,
  SdkError,
} from "../../model/errors.ts";
import type { HttpErrorInit } from "../../model/errors.ts";
import { toPrintable } from "../../model/printable-text.ts";
import { JsonLimitError, parseJson } from "./parse-json.ts";
import type { CallInit } from "./request.ts";

/** The result of one attempt to send a request. */
export type AttemptResult =
  | { readonly kind: "succeeded"; readonly value: unknown }
  | {
      readonly kind: "failed";
      readonly error: SdkError;
      /** Whether another attempt may be made. */
      readonly shouldRetry: boolean;
      /** The delay that the server requested with `Retry-After`, to be observed before the next attempt. */
      readonly retryAfterMs?: number | undefined;
      /** Whether the server may have acted on the request although no usable response arrived. */
      readonly mayHaveTakenEffect: boolean;
    };

/** What the classification of an attempt depends on, in addition to its response. */
export interface AttemptContext {
  readonly endpoint: Endpoint;
  readonly requestId: string | undefined;
  /** Whether sending the request twice has the same effect as sending it once. */
  readonly isRepeatable: boolean;
  /** Replaces the default error message for an error response. */
  readonly createErrorMessage?: CallInit["createErrorMessage"];
  readonly maxResponseBytes: number;
  /** Aborts the parsing of the response. */
  readonly signal?: AbortSignal;
  /** Result of the previous attempt, if any. */
  readonly previous: AttemptResult | undefined;
}

/**
 * Classifies a response as a success or a failure, and decides whether a failed request may be sent again. `now` is
 * milliseconds since the Unix epoch.
 */
export async function classifyResponse(
  response: HttpResponse,
  context: AttemptContext,
  now: number,
): Promise<AttemptResult> {
  const { endpoint, requestId, isRepeatable, previous } = context;
  const { action } = endpoint;
  const { status, chunks = [], bodyFailure } = response;
  if (isOk(status)) {
    if (isTooLarge(bodyFailure)) {
      return createFailure(createTooLargeError(context, bodyFailure), false, {
        mayHaveTakenEffect: true,
      });
    }
    return bodyFailure === undefined
      ? await parseBody(chunks, context)
      : createFailure(toError(action, bodyFailure, { requestId }), isRepeatable, {
          mayHaveTakenEffect: true,
        });
  }
  const previousMayHaveTakenEffect = previous?.kind === "failed" && previous.mayHaveTakenEffect;
  if (status === 404 && endpoint.method === "DELETE" && previousMayHaveTakenEffect) {
    // The previous attempt has probably deleted the resource, although its response did not arrive.
    return { kind: "succeeded", value: null };
  }
  const { detail, retryAfterMs, isQuotaExceeded, isUnprocessed, mayHaveTakenEffect } =
    classifyErrorResponse(response, now);
  const message = context.createErrorMessage?.({ status, body: detail });
  const init = { action, status, body: detail, message, requestId };
  const error = isQuotaExceeded ? new InsufficientQuotaError(init) : createHttpError(init);
  return createFailure(error, isRepeatable || isUnprocessed, {
    retryAfterMs,
    mayHaveTakenEffect: previousMayHaveTakenEffect || mayHaveTakenEffect,
  });
}

/**
 * Classifies a request that got no response: determines the error that the call throws, and whether the request may be
 * sent again.
 */
export function classifyFailure(failure: unknown, context: AttemptContext): AttemptResult {
  const { endpoint, requestId, isRepeatable } = context;
  const { action } = endpoint;
  if (failure instanceof SdkError) {
    // The body of the request could not be read, for example from a file.
    return createFailure(failure, false, { mayHaveTakenEffect: false });
  }
  if (failure instanceof ProxyRefusal) {
    const { status } = failure;
    const init = { action: `${action} through the proxy`, status, body: "", requestId };
    return createFailure(new HttpError({ ...init, cause: failure }), true, {
      mayHaveTakenEffect: false,
    });
  }
  const mayHaveTakenEffect = !isUnsent(failure);
  return createFailure(
    toError(action, failure, { requestId }),
    isRepeatable || !mayHaveTakenEffect,
    {
      mayHaveTakenEffect,
    },
  );
}

const createTooLargeError = (
  { endpoint, maxResponseBytes, requestId }: AttemptContext,
  cause: unknown,
): ResponseError =>
  new ResponseError(
    `Failed to ${endpoint.action}: the response is larger than the option maxResponseBytes (${maxResponseBytes} bytes). Request less data (\`limit\`, \`select\`), or raise the option (MILLRACE_MAX_RESPONSE_BYTES)`,
    { cause, requestId },
  );

/** What is known about a failed attempt in addition to its error. */
interface FailureDetails {
  readonly mayHaveTakenEffect: boolean;
  readonly retryAfterMs?: number | undefined;
}

const createFailure = (
  error: SdkError,
  isSafeToRepeat: boolean,
  details: FailureDetails,
): AttemptResult => ({
  kind: "failed",
  error,
  shouldRetry: error.retryable && isSafeToRepeat,
  ...details,
});

/** Advice by status, appended to the server's own text, which often contains none. */
const adviceByStatus: ReadonlyMap<number, string> = new Map([
  [401, "Set the key of this server: MILLRACE_API_KEY or LANGSMITH_API_KEY, or the option apiKey"],
  [403, "Use a key that may do this, and check the workspace (MILLRACE_WORKSPACE_ID)"],
  [404, "Check the id or name, the endpoint and the tenant of the key"],
]);

function createHttpError(errorInit: HttpErrorInit): HttpError {
  const { action, status, body } = errorInit;
  const advice = adviceByStatus.get(status);
  const reason = `${status} ${extractDetail(body)}`.trimEnd().replace(/\.$/, "");
  const message = advice === undefined ? undefined : `Failed to ${action}: ${reason}. ${advice}`;
  const init = { ...errorInit, message: errorInit.message ?? message };
  if (init.status === 404) {
    return new NotFoundError(init);
  }
  return init.status === 409 ? new ConflictError(init) : new HttpError(init);
}

async function parseBody(
  chunks: readonly Uint8Array[],
  { endpoint, requestId, signal }: AttemptContext,
): Promise<AttemptResult> {
  if (chunks.length <= blankChunkLimit && chunks.every(isBlank)) {
    return { kind: "succeeded", value: null };
  }
  try {
    return { kind: "succeeded", value: await parseJson(chunks, { signal }) };
  } catch (failure) {
    if (signal?.aborted === true) {
      throw failure;
    }
    const text = `Failed to ${endpoint.action}: ${describeParseFailure(failure)}`;
    // The parser's message quotes a part of the response, which may contain control characters.
    const cause = new SyntaxError(toPrintable(String(failure)));
    return createFailure(new ResponseError(text, { cause, requestId }), false, {
      mayHaveTakenEffect: true,
    });
  }
}

/** Only responses of at most this many chunks are checked for being blank: a blank response is short. */
const blankChunkLimit = 4;

const isBlank = (chunk: Uint8Array): boolean =>
  chunk.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);

const describeParseFailure = (failure: unknown): string =>
  failure instanceof JsonLimitError
    ? `${failure.message}; request less data (\`limit\`, \`select\`), or fewer items per call`
    : "the response is not JSON. Check that the endpoint is the URL of the API, including its path if it has one";

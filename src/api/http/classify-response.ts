import { isOk, redirectText } from "../../transport/response.ts";
import type { HttpResponse } from "../../transport/response.ts";
import { isTooLarge, isUnsent, toError, ProxyRefusal } from "../../transport/failure.ts";
import type { Endpoint } from "../../model/endpoints.ts";
import { detailOf } from "../../model/error-detail.ts";
import {
  ResponseError,
  ConflictError,
  HttpError,
  InsufficientQuotaError,
  NotFoundError,
  SdkError,
  isInsufficientQuota,
} from "../../model/errors.ts";
import type { HttpErrorInit } from "../../model/errors.ts";
import { toPrintable } from "../../model/printable-text.ts";
import { retryAfterMs } from "../../model/records/retry-wait.ts";
import { JsonLimitError, parseJson } from "./parse-json.ts";
import type { CallInit } from "./request.ts";

/** What one try came to. */
export type TryResult =
  | { readonly kind: "answered"; readonly value: unknown }
  | {
      readonly kind: "failed";
      readonly error: SdkError;
      /** Whether to try again. */
      readonly again: boolean;
      /** What the server asked for. */
      readonly afterMs?: number | undefined;
      /** Whether the server may have acted although we do not know its answer. */
      readonly isOpen: boolean;
    };

export interface TryFacts {
  readonly endpoint: Endpoint;
  readonly requestId: string | undefined;
  /** Whether it may arrive twice with the effect of one. */
  readonly isRepeatable: boolean;
  /** What an error says of a refusal, where it is not what others say. */
  readonly messageOf?: CallInit["messageOf"];
  readonly maxResponseBytes: number;
  /** Ends the parsing of its answer. */
  readonly signal?: AbortSignal;
  /** The try before this one. */
  readonly earlier: TryResult | undefined;
}

/** What an answer means; `now` is milliseconds since the Unix epoch. */
export async function classifyResponse(
  response: HttpResponse,
  facts: TryFacts,
  now: number,
): Promise<TryResult> {
  const { endpoint, requestId, isRepeatable, earlier } = facts;
  const { action } = endpoint;
  const { status, body, chunks = [], bodyFailure } = response;
  if (isOk(status)) {
    if (isTooLarge(bodyFailure)) {
      return failed(tooLarge(facts, bodyFailure), false, { isOpen: true });
    }
    return bodyFailure === undefined
      ? await parseBody(chunks, facts)
      : failed(toError(action, bodyFailure, { requestId }), isRepeatable, { isOpen: true });
  }
  const wasOpen = earlier?.kind === "failed" && earlier.isOpen;
  if (status === 404 && endpoint.method === "DELETE" && wasOpen) {
    // The try before arrived though its answer did not: it is deleted.
    return { kind: "answered", value: null };
  }
  const shown = status < 400 ? redirectText(response) : body;
  const message = facts.messageOf?.({ status, body: shown });
  const error = errorOf({ action, status, body: shown, message, requestId });
  const isRefused = status === 429 || (status === 503 && response.retryAfter !== undefined);
  const afterMs = retryAfterMs(response.retryAfter, now);
  return failed(error, isRepeatable || isRefused, { afterMs, isOpen: wasOpen || status >= 500 });
}

/** What a failure to get an answer means. */
export function classifyFailure(failure: unknown, facts: TryFacts): TryResult {
  const { endpoint, requestId, isRepeatable } = facts;
  const { action } = endpoint;
  if (failure instanceof SdkError) {
    // Of the request's own body, which could not be read.
    return failed(failure, false, { isOpen: false });
  }
  if (failure instanceof ProxyRefusal) {
    const { status } = failure;
    const init = { action: `${action} through the proxy`, status, body: "", requestId };
    return failed(new HttpError({ ...init, cause: failure }), true, { isOpen: false });
  }
  const isOpen = !isUnsent(failure);
  return failed(toError(action, failure, { requestId }), isRepeatable || !isOpen, { isOpen });
}

const tooLarge = (
  { endpoint, maxResponseBytes, requestId }: TryFacts,
  cause: unknown,
): ResponseError =>
  new ResponseError(
    `Failed to ${endpoint.action}: the answer is larger than the ${maxResponseBytes} bytes of the option maxResponseBytes. Ask for less (\`limit\`, \`select\`), or raise it (MILLRACE_MAX_RESPONSE_BYTES)`,
    { cause, requestId },
  );

interface FailureNotes {
  readonly isOpen: boolean;
  readonly afterMs?: number | undefined;
}

const failed = (error: SdkError, isSafe: boolean, notes: FailureNotes): TryResult => ({
  kind: "failed",
  error,
  again: error.retryable && isSafe,
  ...notes,
});

/** What to do, where the server's text is that of a platform which leaves it out. */
const hints: ReadonlyMap<number, string> = new Map([
  [401, "Set the key of this server: MILLRACE_API_KEY, or the option apiKey"],
  [403, "Use a key that may do this, and check the workspace (MILLRACE_WORKSPACE_ID)"],
  [404, "Check the id or name, the endpoint and the tenant of the key"],
]);

function errorOf(given: HttpErrorInit): HttpError {
  const { action, status, body } = given;
  const hint = hints.get(status);
  const reason = `${status} ${detailOf(body)}`.trimEnd().replace(/\.$/, "");
  const message = hint === undefined ? undefined : `Failed to ${action}: ${reason}. ${hint}`;
  const init = { ...given, message: given.message ?? message };
  if (isInsufficientQuota(init.status, init.body)) {
    return new InsufficientQuotaError(init);
  }
  if (init.status === 404) {
    return new NotFoundError(init);
  }
  return init.status === 409 ? new ConflictError(init) : new HttpError(init);
}

async function parseBody(
  chunks: readonly Uint8Array[],
  { endpoint, requestId, signal }: TryFacts,
): Promise<TryResult> {
  if (chunks.length <= fewChunks && chunks.every(isBlank)) {
    return { kind: "answered", value: null };
  }
  try {
    return { kind: "answered", value: await parseJson(chunks, { signal }) };
  } catch (failure) {
    if (signal?.aborted === true) {
      throw failure;
    }
    const text = `Failed to ${endpoint.action}: ${problemOf(failure)}`;
    // The parser repeats a part of the answer.
    const cause = new SyntaxError(toPrintable(String(failure)));
    return failed(new ResponseError(text, { cause, requestId }), false, { isOpen: true });
  }
}

/** An answer that says nothing is short. */
const fewChunks = 4;

const isBlank = (chunk: Uint8Array): boolean =>
  chunk.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);

const problemOf = (failure: unknown): string =>
  failure instanceof JsonLimitError
    ? `${failure.message}; ask for less (\`limit\`, \`select\`), or for fewer in each call`
    : "the answer is not JSON. Check that the endpoint is the address of the API, with its path where it has one";

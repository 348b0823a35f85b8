import { setTimeout as delay } from "node:timers/promises";
import { RequestError } from "../model/errors.ts";
import type { ModelCaller, PricedAnswer, TenantCall } from "./model-caller.ts";

const repeatLimits = {
  /** Maximum number of attempts at a call that the endpoint refuses because it has no capacity. */
  attempts: 4,
  firstDelayMs: 1_000,
  /** The longest wait that an endpoint may ask for before a call is repeated. */
  maxDelayMs: 30_000,
  /** The longest wait for this server's own rate limit, which counts calls per minute. */
  maxRateDelaySeconds: 60,
} as const;

/**
 * Calls a model. If the endpoint has no capacity for a call, the call is repeated after the time that the endpoint asks
 * for.
 *
 * @throws RequestError see `ModelCaller.call`. If the call was canceled, throws the signal's reason.
 */
export async function repeatCall(
  models: Pick<ModelCaller, "call">,
  call: TenantCall & { readonly signal: AbortSignal },
): Promise<PricedAnswer> {
  const { signal } = call;
  for (let attempt = 1; ; attempt += 1) {
    const answer = await models.call(call);
    signal.throwIfAborted();
    const { failure } = answer;
    if (failure?.kind !== "rateLimited" || attempt === repeatLimits.attempts) {
      return answer;
    }
    const requestedMs = (failure.retryAfterSeconds ?? 0) * 1_000;
    const ownMs = repeatLimits.firstDelayMs * 2 ** (attempt - 1);
    await delay(Math.min(repeatLimits.maxDelayMs, Math.max(requestedMs, ownMs)), undefined, {
      signal,
    });
  }
}

/**
 * Calls a model for a job that has nothing else to do: while the tenant has made too many calls in a minute, the call
 * waits. Work that occupies a slot which other tenants need, too, must not wait here: it must free the slot and be
 * tried again later.
 *
 * @throws RequestError see `ModelCaller.call`, except for the limit of calls in a minute.
 */
export async function callWithinRate(
  models: Pick<ModelCaller, "call">,
  call: TenantCall,
): Promise<PricedAnswer> {
  for (;;) {
    try {
      return await models.call(call);
    } catch (cause) {
      const seconds = readRateDelay(cause);
      if (seconds === undefined) {
        throw cause;
      }
      await delay(seconds * 1_000, undefined, { signal: call.signal });
    }
  }
}

/** Returns the seconds until another call is permitted; `undefined` for any other error, such as a spent budget. */
function readRateDelay(cause: unknown): number | undefined {
  const seconds =
    cause instanceof RequestError && cause.status === 429 ? cause.retryAfterSeconds : undefined;
  return seconds !== undefined && seconds <= repeatLimits.maxRateDelaySeconds ? seconds : undefined;
}

import { setTimeout as delay } from "node:timers/promises";
import type { ModelCaller, PricedAnswer, TenantCall } from "./model-caller.ts";

/** Limits of calls that are repeated. */
const repeatLimits = {
  /** Maximum number of attempts at a call while the endpoint has no capacity. */
  attempts: 4,
  firstDelayMs: 1_000,
  /** The longest wait that an endpoint may ask for before a call is repeated. */
  maxDelayMs: 30_000,
} as const;

/**
 * Calls a model. A call that the endpoint had no capacity for is repeated after the time that it asks for.
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

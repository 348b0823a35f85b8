import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "millrace";
import { NetworkError, TimeoutError } from "millrace";

/** How long requests to a server that has never responded are retried, in milliseconds. */
const retryTimeoutMs = 2_000;
const retryIntervalMs = 400;

/**
 * Waits for a first response of the server, so that a missing server is reported within seconds. Later calls
 * are retried for much longer, because a server that has responded once is expected to return.
 *
 * @throws {@link Error} if there is no response. The message says what was tried, why it failed and what to do.
 */
export async function waitForServer(
  client: Client,
  { endpoint, signal }: { readonly endpoint: string; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const deadline = performance.now() + retryTimeoutMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.tenant.settings({ signal });
      return;
    } catch (cause) {
      if (!(cause instanceof NetworkError || cause instanceof TimeoutError)) {
        // The server responded. If it refuses a later call, for example because of the API key, that call reports the
        // error.
        return;
      }
      const reason = cause.message.replace(/^Failed to [^:]*: /, "");
      if (performance.now() >= deadline || cause instanceof TimeoutError) {
        throw new Error(
          `no server responds at ${endpoint}: ${reason}. Start one with "npx millrace serve", or set --endpoint or MILLRACE_ENDPOINT; run "millrace doctor" for details`,
          { cause },
        );
      }
      if (attempt === 1) {
        process.stderr.write(
          `no response from ${endpoint}: ${reason}; retrying for ${retryTimeoutMs / 1_000} s\n`,
        );
      }
      await sleep(retryIntervalMs, undefined, { signal });
    }
  }
}

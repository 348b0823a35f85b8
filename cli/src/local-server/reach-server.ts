import { setTimeout as timer } from "node:timers/promises";
import type { Client } from "millrace";
import { NetworkError, TimeoutError } from "millrace";

/** How long a server that never answered is tried. */
const patienceMs = 2_000;
const pauseMs = 400;

/**
 * Asks the server for a first answer, so that one that is not there is reported within seconds: later calls
 * are tried for much longer, because a server that answered once is worth waiting for.
 *
 * @throws {@link Error} no answer: says what was tried, why it failed and what to do.
 */
export async function reachServer(
  client: Client,
  { endpoint, signal }: { readonly endpoint: string; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const until = performance.now() + patienceMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.tenant.settings({ signal });
      return;
    } catch (cause) {
      if (!(cause instanceof NetworkError || cause instanceof TimeoutError)) {
        // It answered: what it refuses is reported by the call that needs it.
        return;
      }
      const reason = cause.message.replace(/^Failed to [^:]*: /, "");
      if (performance.now() >= until || cause instanceof TimeoutError) {
        throw new Error(
          `no server answers at ${endpoint}: ${reason}. Start one with "npx millrace serve", or name yours with --endpoint or MILLRACE_ENDPOINT; "millrace doctor" says more`,
          { cause },
        );
      }
      if (attempt === 1) {
        process.stderr.write(
          `no answer from ${endpoint}: ${reason}; trying for ${patienceMs / 1_000} s\n`,
        );
      }
      await timer(pauseMs, undefined, { signal });
    }
  }
}

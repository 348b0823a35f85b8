import { subscribe } from "node:diagnostics_channel";

/** Answer header in which the sink says how many runs became whole with a request. */
export const acknowledgedHeader = "x-bench-runs";

interface FetchAnswer {
  readonly response: { readonly headers: readonly Buffer[] };
}
interface HttpAnswer {
  readonly response: { readonly headers: Readonly<Record<string, string | undefined>> };
}

/**
 * Counts the runs that the sink acknowledged to this process, from the answers that `fetch` and
 * `node:http` announce: no client has to be wrapped or asked for it.
 */
export function countAcknowledged(): () => number {
  let count = 0;
  subscribe("undici:request:headers", (message) => {
    const { headers } = (message as FetchAnswer).response;
    for (let at = 0; at + 1 < headers.length; at += 2) {
      if (headers[at]?.toString("latin1").toLowerCase() === acknowledgedHeader) {
        count += Number(headers[at + 1]?.toString("latin1"));
      }
    }
  });
  subscribe("http.client.response.finish", (message) => {
    count += Number((message as HttpAnswer).response.headers[acknowledgedHeader] ?? 0);
  });
  return () => count;
}

import { subscribe } from "node:diagnostics_channel";

/** Response header with the number of runs that became whole with a request. The sink sends it. */
export const acknowledgedHeader = "x-bench-runs";

interface FetchResponse {
  readonly response: { readonly headers: readonly Buffer[] };
}
interface HttpResponse {
  readonly response: { readonly headers: Readonly<Record<string, string | undefined>> };
}

/**
 * Counts the runs that the sink acknowledged to this process. It reads the responses that `fetch` and `node:http` publish
 * on diagnostics channels, so no client needs to be wrapped or queried.
 */
export function countAcknowledged(): () => number {
  let count = 0;
  subscribe("undici:request:headers", (message) => {
    const { headers } = (message as FetchResponse).response;
    for (let index = 0; index + 1 < headers.length; index += 2) {
      if (headers[index]?.toString("latin1").toLowerCase() === acknowledgedHeader) {
        count += Number(headers[index + 1]?.toString("latin1"));
      }
    }
  });
  subscribe("http.client.response.finish", (message) => {
    count += Number((message as HttpResponse).response.headers[acknowledgedHeader] ?? 0);
  });
  return () => count;
}

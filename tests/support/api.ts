import { onTestFinished } from "vitest";
import { Http } from "../../src/api/http/http.ts";
import type { HttpOptions } from "../../src/api/http/http.ts";
import type { Connection } from "../../src/model/options/connection.ts";

export interface TestHttpOptions extends Partial<Omit<HttpOptions, "connection">> {
  readonly connection?: Partial<Connection>;
}

/** An `Http` for tests, and the waits between attempts that it would have made, in milliseconds. */
export interface TestHttp {
  readonly http: Http;
  readonly waits: readonly number[];
}

/** Sends API requests over real connections without waiting between attempts. Closed when the test ends. */
export function createTestHttp(endpoint: string, options: TestHttpOptions = {}): TestHttp {
  const { connection, ...rest } = options;
  const waits: number[] = [];
  const http = new Http({
    attempts: 3,
    retryAfterLimitMs: 60_000,
    maxResponseBytes: 268_435_456,
    random: () => 0,
    wait: async (delayMs) => waits.push(delayMs),
    ...rest,
    connection: {
      endpoint,
      timeoutMs: 5_000,
      requestsInFlight: 4,
      compression: "none",
      ...connection,
    },
  });
  onTestFinished(() => http.close());
  return { http, waits };
}

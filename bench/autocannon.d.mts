export interface HttpLoad {
  /** Address of the request, a GET. */
  readonly url: string;
  /** Number of connections. Each sends its next request after the response to the previous one. */
  readonly connections: number;
  readonly seconds: number;
  /** Requests per second of all connections together; as many as the server answers by default. */
  readonly requestsPerSecond?: number | undefined;
}

/** Sends requests with autocannon, whose package is installed only with the benches. */
export declare function sendRequests(load: HttpLoad): Promise<{
  /** Milliseconds until the response, of each request that was answered with 200. */
  readonly latenciesMs: readonly number[];
  /** Number of requests with another response or none. */
  readonly failed: number;
}>;

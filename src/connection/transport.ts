import type { Readable } from "node:stream";

/** One request, with its whole address. */
export interface TransportRequest {
  readonly origin: string;
  readonly path: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | Readable | null;
  readonly signal: AbortSignal;
  /** Milliseconds; 0 for a wait that the caller bounds itself. */
  readonly headersTimeout?: number;
}

export interface TransportResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array> & { text(): Promise<string> };
}

/** What sends requests: pooled connections of undici, or `fetch` where a runtime has another undici. */
export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  /** Ends its connections, and what is under way with them. */
  destroy(): Promise<void>;
}

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

/** The body of a request that is sent as it is read. */
export interface StreamedBody {
  /** Bytes of it all, where they are known; it is sent in chunks where they are not. */
  readonly sizeBytes?: number | undefined;
  /** Whether it can be opened again: a caller's own stream only until it was. */
  readonly isSpent: boolean;
  open(): AsyncIterable<Uint8Array>;
}

/** What is read of `chunks`, and `onProgress` at each step. */
export async function* watched(
  chunks: AsyncIterable<Uint8Array>,
  onProgress: () => void,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of chunks) {
    onProgress();
    yield chunk;
    onProgress();
  }
}

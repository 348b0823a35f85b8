import type { Readable } from "node:stream";

/** A request with its full address. */
export interface TransportRequest {
  readonly origin: string;
  readonly path: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | Readable | null;
  readonly signal: AbortSignal;
  /** Milliseconds to wait for the headers of the response; 0 if the caller limits the wait. */
  readonly headersTimeout?: number;
}

/** A response whose body has not been read yet. */
export interface TransportResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array> & { text(): Promise<string> };
}

/**
 * Sends requests: with pooled undici connections, or with `fetch` if the runtime replaces undici.
 */
export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  /** Closes all connections and aborts requests in flight. */
  destroy(): Promise<void>;
}

/** A request body that is read while it is sent. */
export interface StreamedBody {
  /** Total number of bytes, if known. Otherwise the body is sent with chunked encoding. */
  readonly sizeBytes?: number | undefined;
  /** Whether the body was consumed and can't be opened again, such as a stream that the caller passed. */
  readonly isConsumed: boolean;
  open(): AsyncIterable<Uint8Array>;
}

/** Passes chunks through, and calls `onProgress` before and after each one is consumed. */
export async function* reportProgress(
  chunks: AsyncIterable<Uint8Array>,
  onProgress: () => void,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of chunks) {
    onProgress();
    yield chunk;
    onProgress();
  }
}

import type { Readable } from "node:stream";
import type { Connection } from "../model/options/connection.ts";

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
 * Sends requests: with pooled undici connections, with `fetch` if the runtime replaces undici, or with Node's own
 * client in a short program.
 */
export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  /** Closes all connections and aborts requests in flight. */
  destroy(): Promise<void>;
}

/** Creates the body of a response from a function that reads its chunks. The body can be read only once. */
export const toTransportBody = (
  readChunks: () => AsyncGenerator<Uint8Array, void>,
): TransportResponse["body"] => ({
  [Symbol.asyncIterator]: readChunks,
  async text() {
    const parts: Uint8Array[] = [];
    for await (const chunk of readChunks()) {
      parts.push(chunk);
    }
    return Buffer.concat(parts).toString();
  },
});

/** The error for a response that exceeds the size limit, with the same code as that of undici. */
export const createTooLargeError = (maxResponseBytes: number): Error =>
  Object.assign(new Error(`the response exceeds ${maxResponseBytes} bytes`), {
    code: "UND_ERR_RES_EXCEEDED_MAX_SIZE",
  });

/**
 * Whether the sockets of this runtime behave like Node's, as undici requires. Bun's sockets do not. Bun also replaces
 * the package `undici` with an implementation without `request`.
 */
export const hasNodeSockets = (): boolean => process.versions["bun"] === undefined;

/**
 * Creates the transport of a connection: at most `maxResponseBytes` of each response are read; `Infinity` is no limit.
 */
export type CreateTransport = (
  connection: Connection,
  maxResponseBytes: number,
  onConnected: () => void,
) => Transport;

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

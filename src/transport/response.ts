/** The response to one request. */
export interface HttpResponse {
  readonly status: number;
  /** Value of the header `Retry-After`, if present. */
  readonly retryAfter?: string | undefined;
  /** The URL that a redirect points to. */
  readonly location?: string | undefined;
  /** The body as text; empty if it could not be read. The status is valid nevertheless. */
  readonly body: string;
  /** Replaces `body` in a 2xx response if the caller requested bytes. */
  readonly chunks?: readonly Uint8Array[];
  /** The reason why the body could not be read, if there was one. */
  readonly bodyFailure?: unknown;
}

/** Whether a status means success: 2xx. */
export const isOk = (status: number): boolean => status >= 200 && status < 300;

/** Maximum number of bytes of an error response that are read. */
const maxErrorBodyBytes = 65_536;

/** Reads the beginning of an error response. */
export async function readErrorBody(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const readChunks: Uint8Array[] = [];
  let receivedBytes = 0;
  try {
    for await (const chunk of chunks) {
      readChunks.push(chunk.subarray(0, maxErrorBodyBytes - receivedBytes));
      receivedBytes += chunk.length;
      if (receivedBytes >= maxErrorBodyBytes) {
        break;
      }
    }
  } catch {
    // The body broke off. The status is still valid.
  }
  return Buffer.concat(readChunks).toString();
}

/** A response whose body is read as a stream. */
export interface StreamedResponse {
  /** Status and headers; `body` is empty. */
  readonly head: HttpResponse;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Describes a redirect for an error message. */
export const formatRedirect = ({ location }: HttpResponse): string =>
  [
    ...(location === undefined ? [] : [`to ${location.slice(0, 200)}`]),
    "(redirects are not followed; set the endpoint to the address of the server)",
  ].join(" ");

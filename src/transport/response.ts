/** What came back for one request. */
export interface HttpResponse {
  readonly status: number;
  /** The value of `Retry-After`, if any. */
  readonly retryAfter?: string | undefined;
  /** Where a redirect points. */
  readonly location?: string | undefined;
  /** Empty where it could not be read: the status counts all the same. */
  readonly body: string;
  /** In place of `body`, for a 2xx response whose caller requested bytes. */
  readonly chunks?: readonly Uint8Array[];
  /** What kept the body from being read, where something did. */
  readonly bodyFailure?: unknown;
}

export const isOk = (status: number): boolean => status >= 200 && status < 300;

/** Longest text of a refusal that is read, in bytes. */
const refusalBytes = 65_536;

/** Reads the body of an error response, up to a bound. */
export async function readRefusal(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of chunks) {
      read.push(chunk.subarray(0, refusalBytes - size));
      size += chunk.length;
      if (size >= refusalBytes) {
        break;
      }
    }
  } catch {
    // It broke off: the status counts all the same.
  }
  return Buffer.concat(read).toString();
}

/** An answer that is read as it arrives. */
export interface StreamedResponse {
  /** Its body is empty. */
  readonly head: HttpResponse;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** The words with which an error describes a redirect. */
export const redirectText = ({ location }: HttpResponse): string =>
  [
    ...(location === undefined ? [] : [`to ${location.slice(0, 200)}`]),
    "(redirects are not followed; set the endpoint to where the server is)",
  ].join(" ");

import { createHash } from "node:crypto";
import { readLimited } from "./read-limited.ts";

export type FetchArguments = Parameters<typeof globalThis.fetch>;

/** A request whose response can be cached. */
export interface CacheableRequest {
  readonly method: string;
  /** The address as it is sent. */
  readonly address: string;
  /** The address without query, fragment and credentials, because they may contain a key. */
  readonly url: string;
  /** Identifies the request: method, address and body, without its headers. */
  readonly digest: string;
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
  /** The arguments of `fetch` for sending the request. A body that can be read only once is replaced by its bytes. */
  readonly args: FetchArguments;
}

/** Names of query parameters that contain credentials or values that are computed from them. */
const credentialName =
  /^(?:(?:[\w-]+[-_])?(?:key|token|secret|password|signature)|\w*(?:apikey|accesstoken)|auth|authorization|sig|x-(?:amz|goog)-.*)$/i;

/**
 * Reads a request without sending it. If its body is too large to be cached, returns only the arguments of `fetch` for
 * sending it. Returns `undefined` if the URL is not an HTTP URL.
 *
 * @throws what `new Request` throws if the arguments are not valid.
 */
export async function readRequest([input, init]: FetchArguments): Promise<
  CacheableRequest | { readonly tooLarge: FetchArguments } | undefined
> {
  const isRequest = input instanceof Request;
  // The original request must keep its body for sending, so a copy is read.
  const request = new Request(isRequest ? input.clone() : input, init);
  if (!/^https?:/.test(request.url)) {
    return undefined;
  }
  const body = await readLimited(request.body);
  const isStream = init?.body instanceof ReadableStream || isAsyncIterable(init?.body);
  if (body.wholeBody !== undefined) {
    return {
      tooLarge: isStream
        ? [input, { ...init, body: body.wholeBody, duplex: "half" }]
        : [input, init],
    };
  }
  const bytes = Buffer.concat(body.chunks);
  const { origin, pathname, searchParams } = new URL(request.url);
  const url = origin + pathname;
  const query = [...searchParams]
    .filter(([name]) => !credentialName.test(name))
    .map((entry) => entry.join("="))
    .toSorted();
  const digest = createHash("sha256")
    .update(JSON.stringify([request.method, url, query]))
    .update(replaceBoundary(bytes, request.headers.get("content-type") ?? ""))
    .digest("hex")
    .slice(0, 32);
  return {
    method: request.method,
    address: request.url,
    url,
    digest,
    body: bytes,
    signal: request.signal,
    args: isStream ? [input, { ...init, body: bytes }] : [input, init],
  };
}

const isAsyncIterable = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/**
 * Replaces the random boundary between the parts of a form by a constant, so that forms with the same content have the
 * same digest.
 */
function replaceBoundary(body: Buffer, contentType: string): Buffer {
  const boundary = /^multipart\/.*boundary="?([^";]+)/i.exec(contentType)?.[1];
  return boundary === undefined
    ? body
    : Buffer.from(body.toString("latin1").replaceAll(boundary, "boundary"), "latin1");
}

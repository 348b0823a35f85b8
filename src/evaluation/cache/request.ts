import { createHash } from "node:crypto";
import { readLimited } from "./read-limited.ts";

export type FetchArguments = Parameters<typeof globalThis.fetch>;

/** A request whose answer can be cached. */
export interface CacheableRequest {
  readonly method: string;
  /** The address as it is sent. */
  readonly address: string;
  /** The address without query, fragment and credentials: a key may be in them. */
  readonly url: string;
  /** Identifies the request: method, address and body, without its headers. */
  readonly digest: string;
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
  /** The arguments with which the request can be sent: a body that could be read once only is replaced. */
  readonly args: FetchArguments;
}

/** Names of parameters of an address that contain credentials, or what is computed from them. */
const credentialName =
  /^(?:(?:[\w-]+[-_])?(?:key|token|secret|password|signature)|\w*(?:apikey|accesstoken)|auth|authorization|sig|x-(?:amz|goog)-.*)$/i;

/**
 * Reads a request without sending it. Returns the arguments to send instead if its body is too large to be cached, and
 * `undefined` if it is no request to a server.
 *
 * @throws what `new Request` throws if the arguments are not valid.
 */
export async function readRequest([input, init]: FetchArguments): Promise<
  CacheableRequest | { readonly tooLarge: FetchArguments } | undefined
> {
  const isRequest = input instanceof Request;
  // A request that is passed on must keep its body, so a copy of it is read.
  const request = new Request(isRequest ? input.clone() : input, init);
  if (!/^https?:/.test(request.url)) {
    return undefined;
  }
  const body = await readLimited(request.body);
  const isStream = init?.body instanceof ReadableStream || isAsyncIterable(init?.body);
  if (body.rest !== undefined) {
    return {
      tooLarge: isStream ? [input, { ...init, body: body.rest, duplex: "half" }] : [input, init],
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

/** The boundary between the parts of a form is random, so a constant takes its place. */
function replaceBoundary(body: Buffer, contentType: string): Buffer {
  const boundary = /^multipart\/.*boundary="?([^";]+)/i.exec(contentType)?.[1];
  return boundary === undefined
    ? body
    : Buffer.from(body.toString("latin1").replaceAll(boundary, "boundary"), "latin1");
}

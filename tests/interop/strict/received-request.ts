import type { IncomingHttpHeaders } from "node:http";

/** A request as it arrived, with its body decompressed. */
export interface ReceivedRequest {
  readonly method: string;
  /** The path without the query and without `/api/v1`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A rule of the wire format that a request broke. */
export interface Violation<Rule extends string = string> {
  readonly rule: Rule;
  readonly detail: string;
}

export const contentTypeOf = ({ headers }: ReceivedRequest): string =>
  headers["content-type"] ?? "";

/** Parses bytes that must be JSON in UTF-8; `undefined` if they are not. */
export function jsonOf(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { value: JSON.parse(text) as unknown };
  } catch {
    // The caller reports which rule this breaks.
    return undefined;
  }
}

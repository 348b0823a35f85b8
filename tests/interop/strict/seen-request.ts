import type { IncomingHttpHeaders } from "node:http";

/** One request, as it arrived; its body decompressed. */
export interface SeenRequest {
  readonly method: string;
  /** Without the query and without `/api/v1`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A rule of the wire that a request broke. */
export interface Violation<Rule extends string = string> {
  readonly rule: Rule;
  readonly detail: string;
}

export const contentTypeOf = ({ headers }: SeenRequest): string => headers["content-type"] ?? "";

/** The text of bytes that must be UTF-8 and JSON; `undefined` where they are not. */
export function jsonOf(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { value: JSON.parse(text) as unknown };
  } catch {
    // The caller says which rule that breaks.
    return undefined;
  }
}

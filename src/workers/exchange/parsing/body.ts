import type { RawExchange } from "../../../model/records/exchange.ts";
import { looksLikeEventStream, parseEventStream } from "./sse.ts";
import type { EventStream, ServerSentEvent } from "./sse.ts";
import { toExcerpt } from "./warnings.ts";
import type { Warnings } from "./warnings.ts";

/** The longest recorded text of a body that could not be parsed, in UTF-16 units. */
const maxRawLength = 65_536;

/** The text of a body: the part before the omitted bytes, and the part after them. */
export interface BodyText {
  readonly head: string;
  /** Absent if no bytes were omitted. */
  readonly tail: string | undefined;
}

/** Decodes a body. Bytes that are not UTF-8 are replaced, with a warning. */
export function decodeBody(exchange: RawExchange, warnings: Warnings): BodyText {
  const { body, omittedBytes, omittedAt = 0, part } = exchange;
  if (omittedBytes === 0) {
    const isCut = exchange.ending === "cancelled" || exchange.ending === "failed";
    return { head: decode(body, { isCut, part, warnings }), tail: undefined };
  }
  return {
    head: decode(body.subarray(0, omittedAt), { isCut: true, part, warnings }),
    tail: decode(skipContinuation(body.subarray(omittedAt)), { isCut: false, part, warnings }),
  };
}

interface DecodeOptions {
  /** Whether the bytes may end in the middle of a character. */
  readonly isCut: boolean;
  readonly part: string;
  readonly warnings: Warnings;
}

function decode(bytes: Uint8Array, { isCut, part, warnings }: DecodeOptions): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    warnings.add(`The ${part} contains bytes that are not valid UTF-8. They were replaced.`);
    return new TextDecoder().decode(bytes, { stream: isCut });
  }
}

/** Skips the rest of a character whose first bytes are missing. */
function skipContinuation(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) {
    start += 1;
  }
  return bytes.subarray(start);
}

/** Whether the body of a response is a stream of server-sent events. */
export function isEventStream({ contentType = "" }: RawExchange, { head }: BodyText): boolean {
  const isJson = /\bjson\b/i.test(contentType);
  return /^\s*text\/event-stream/i.test(contentType) || (!isJson && looksLikeEventStream(head));
}

/** Returns the events of a body. The event that contained the omitted bytes is left out. */
export function readEvents(
  exchange: RawExchange,
  text: BodyText,
  warnings: Warnings,
): readonly ServerSentEvent[] {
  const head = parseEventStream(text.head);
  if (text.tail === undefined) {
    return [...head.events, ...readUnfinished(exchange, head, warnings)];
  }
  const eventEnd = /\r\n\r\n|\n\n|\r\r/.exec(text.tail);
  const tail = parseEventStream(
    eventEnd === null ? "" : text.tail.slice(eventEnd.index + eventEnd[0].length),
  );
  return [...head.events, ...tail.events, ...readUnfinished(exchange, tail, warnings)];
}

/** Returns the last event if only the blank line after it is missing. An event that was cut off is left out. */
function readUnfinished(
  { ending = "complete" }: RawExchange,
  { unfinished }: EventStream,
  warnings: Warnings,
): readonly ServerSentEvent[] {
  if (unfinished === undefined) {
    return [];
  }
  if (unfinished.data.startsWith("[DONE]") || parseJson(unfinished.data).fault === undefined) {
    return [unfinished];
  }
  if (ending === "complete") {
    warnings.add(
      `The response ended in the middle of an event, which begins with: ${toExcerpt(unfinished.data)}`,
    );
  }
  return [];
}

/** The result of parsing JSON. `fault` states why there is no value. */
export type ParsedJson =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

/** Parses JSON. Never throws. */
export function parseJson(text: string): ParsedJson {
  try {
    const value: unknown = JSON.parse(text);
    return { value };
  } catch (error) {
    return { fault: error instanceof Error ? toExcerpt(error.message) : "it is not JSON" };
  }
}

/** Returns the text of a body that could not be parsed, as the payload of a run. */
export function toRawPayload({ head, tail }: BodyText): { readonly body: string } | undefined {
  if (head === "" && (tail ?? "") === "") {
    return undefined;
  }
  const text = tail === undefined ? head : `${head}[…]${tail}`;
  return {
    body:
      text.length <= maxRawLength
        ? text
        : `${text.slice(0, maxRawLength).toWellFormed()}[truncated: ${text.length - maxRawLength} more characters]`,
  };
}

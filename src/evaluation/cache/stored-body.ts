import { isUtf8 } from "node:buffer";

/**
 * A body in a cache file. JSON is stored as a value if serializing the value results in the same text. A stream is
 * stored as the chunks in which it arrived. Other text is stored unchanged, and binary data in base64.
 */
export type StoredBody =
  | { readonly json: unknown; readonly indent?: number }
  | { readonly text: string }
  | { readonly chunks: readonly string[] }
  | { readonly base64: string }
  | { readonly base64Chunks: readonly string[] };

/** Content types of streams. Their chunks are stored, so that a replayed stream arrives in the same chunks. */
const streamType =
  /^(?:text\/event-stream|application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-seq|stream\+json)|application\/vnd\.amazon\.eventstream)\b/i;

/** Whether a body with this content type is a stream. */
export const isStreamType = (contentType: string | undefined): boolean =>
  contentType !== undefined && streamType.test(contentType);

/** Converts the bytes of a body to the form in which they are stored. */
export function toStoredBody(chunks: readonly Uint8Array[], isStream: boolean): StoredBody {
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) {
    return isStream
      ? { base64Chunks: chunks.map((chunk) => Buffer.from(chunk).toString("base64")) }
      : { base64: bytes.toString("base64") };
  }
  if (isStream) {
    // A character that is divided between two chunks is stored with the second one.
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const texts = chunks.map((chunk) => decoder.decode(chunk, { stream: true }));
    return { chunks: texts.filter((text) => text !== "") };
  }
  const text = bytes.toString();
  return toJsonBody(text) ?? { text };
}

/** Widths of indentation that are tried to reproduce a JSON text. */
const indents = [0, 2, 4];

function toJsonBody(text: string): StoredBody | undefined {
  if (!/^[[{]/.test(text)) {
    return undefined;
  }
  try {
    const json: unknown = JSON.parse(text);
    const indent = indents.find((width) => JSON.stringify(json, null, width) === text);
    return indent === undefined ? undefined : { json, ...(indent === 0 ? {} : { indent }) };
  } catch {
    return undefined;
  }
}

/**
 * Returns the chunks of a stored body.
 *
 * @throws TypeError if the body has no known form.
 */
export function toChunks(body: StoredBody): readonly Uint8Array[] {
  if ("json" in body) {
    return [Buffer.from(JSON.stringify(body.json, null, body.indent ?? 0))];
  }
  if ("text" in body && typeof body.text === "string") {
    return body.text === "" ? [] : [Buffer.from(body.text)];
  }
  if ("chunks" in body && isTextArray(body.chunks)) {
    return body.chunks.map((chunk) => Buffer.from(chunk));
  }
  if ("base64" in body && typeof body.base64 === "string") {
    return [Buffer.from(body.base64, "base64")];
  }
  if ("base64Chunks" in body && isTextArray(body.base64Chunks)) {
    return body.base64Chunks.map((chunk) => Buffer.from(chunk, "base64"));
  }
  throw new TypeError("its body has an unknown form");
}

const isTextArray = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** Masks a value. Without redaction rules, returns the same value. */
export type Redact = (value: unknown) => Promise<unknown>;

/** Applies redaction rules to a body: to the values of JSON, to text, and to the lines of a stream. */
export async function redactBody(body: StoredBody, redact: Redact): Promise<StoredBody> {
  if ("json" in body) {
    return { ...body, json: await redact(body.json) };
  }
  if ("text" in body) {
    return { text: String(await redact(body.text)) };
  }
  return "chunks" in body ? { chunks: await redactChunks(body.chunks, redact) } : body;
}

/** The field name before the data of a server-sent event. */
const eventPrefix = /^data: ?/;

async function redactChunks(chunks: readonly string[], redact: Redact): Promise<readonly string[]> {
  const lines = chunks.join("").split("\n");
  const values = lines.map((line) => parseLine(line) ?? line);
  const redacted = await redact(values);
  if (redacted === values || !Array.isArray(redacted)) {
    return chunks;
  }
  const text = lines
    .map((line, index) => {
      const value = values[index];
      const redactedValue: unknown = redacted[index];
      if (typeof value === "string") {
        return String(redactedValue);
      }
      return JSON.stringify(value) === JSON.stringify(redactedValue)
        ? line
        : (eventPrefix.exec(line)?.[0] ?? "") + JSON.stringify(redactedValue);
    })
    .join("\n");
  return splitAgain(Buffer.from(text), chunks);
}

function parseLine(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line.replace(eventPrefix, ""));
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Divides a redacted stream at the offsets of the original chunks, or after each event if its length has changed. */
function splitAgain(bytes: Buffer, chunks: readonly string[]): readonly string[] {
  const lengths = chunks.map((chunk) => Buffer.byteLength(chunk));
  if (lengths.reduce((sum, length) => sum + length, 0) !== bytes.length) {
    return bytes.toString().split(/(?<=\n\n)/);
  }
  let offset = 0;
  return lengths.map((length) => {
    offset += length;
    return bytes.toString("utf8", offset - length, offset);
  });
}

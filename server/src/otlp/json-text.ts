import { JsonCursor, JsonError } from "../bodies/json-cursor.ts";

/** A value that is JSON text already. It is stored unchanged, so numbers of any size are preserved. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Serializes attribute values and {@link JsonText}s. */
export function toJson(value: unknown): string {
  if (value instanceof JsonText) {
    return value.text;
  }
  if (typeof value === "bigint") {
    return String(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(toJson).join(",")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => `${JSON.stringify(name)}:${toJson(item)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/**
 * Returns the members of the JSON object in a text, each as unchanged JSON text; `undefined` if the text is not a JSON
 * object.
 */
export const readMembers = (text: string): ReadonlyMap<string, JsonText> | undefined =>
  text.trimStart().startsWith("{")
    ? readWithCursor(text, (cursor) => toTexts(cursor.readMembers()))
    : undefined;

/** Returns the text as JSON if it is JSON of any kind; otherwise `undefined`. */
export const readJson = (text: string): JsonText | undefined =>
  readWithCursor(text, (cursor) => {
    cursor.assertOneValue();
    return new JsonText(escapeLoneSurrogates(text));
  });

/** Maximum nesting of a value that is parsed. A text with more levels is not parsed. */
const depthLimit = 256;

/** Parses a JSON text; `undefined` if it is not JSON, or is nested too deeply. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isShallow(value) ? value : undefined;
  } catch {
    return undefined; // The caller uses the text instead.
  }
}

function isShallow(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > depthLimit) {
      return false;
    }
    level = level.flatMap((item) =>
      typeof item === "object" && item !== null ? (Object.values(item) as unknown[]) : [],
    );
  }
  return true;
}

const toTexts = (members: ReadonlyMap<string, Buffer>): ReadonlyMap<string, JsonText> =>
  new Map([...members].map(([name, raw]) => [name, new JsonText(raw.toString("utf8"))]));

function readWithCursor<Value>(
  text: string,
  readValue: (cursor: JsonCursor) => Value,
): Value | undefined {
  try {
    return readValue(new JsonCursor(Buffer.from(escapeLoneSurrogates(text))));
  } catch (cause) {
    if (cause instanceof JsonError) {
      return undefined;
    }
    throw cause;
  }
}

/** Escapes lone surrogates, which can't be encoded in UTF-8. In JSON, an escape means the same character. */
const escapeLoneSurrogates = (text: string): string =>
  text.isWellFormed()
    ? text
    : text.replaceAll(
        /\p{Surrogate}/gu,
        (surrogate) => `\\u${surrogate.charCodeAt(0).toString(16)}`,
      );

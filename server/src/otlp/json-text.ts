import { JsonCursor, JsonError } from "../bodies/json-cursor.ts";

/** A value that is a JSON text already; it is stored as it came, numbers of any size included. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The JSON of attribute values and {@link JsonText}s. */
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

/** The members of a text that is a JSON object, unchanged; `undefined` where it is something else. */
export const readMembers = (text: string): ReadonlyMap<string, JsonText> | undefined =>
  text.trimStart().startsWith("{")
    ? read(text, (cursor) => toTexts(cursor.readMembers()))
    : undefined;

/** The text, where it is JSON of any kind. */
export const readJson = (text: string): JsonText | undefined =>
  read(text, (cursor) => {
    cursor.readWhole();
    return new JsonText(wellFormed(text));
  });

/** Levels of a value that is looked into; what has more stays a text. */
const depthLimit = 256;

/** The value of a JSON text; `undefined` where it is not JSON, or is nested too deeply to be parsed. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isShallow(value) ? value : undefined;
  } catch {
    return undefined; // Whoever asks has a use for a text too.
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

function read<Value>(text: string, use: (cursor: JsonCursor) => Value): Value | undefined {
  try {
    return use(new JsonCursor(Buffer.from(wellFormed(text))));
  } catch (cause) {
    if (cause instanceof JsonError) {
      return undefined;
    }
    throw cause;
  }
}

/** Half a character has no UTF-8; as an escape it means the same. */
const wellFormed = (text: string): string =>
  text.isWellFormed()
    ? text
    : text.replaceAll(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);

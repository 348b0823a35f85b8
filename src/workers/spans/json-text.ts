/** A value that is JSON text already. It is stored unchanged, so numbers of any size are preserved. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Serializes attribute values and `JsonText`s. */
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
 * object. Of several members with the same name, the last one is returned.
 */
export function readMembers(text: string): ReadonlyMap<string, JsonText> | undefined {
  const json = text.trimStart().startsWith("{") ? readJson(text) : undefined;
  return json === undefined ? undefined : splitMembers(json.text);
}

/** Returns the text as JSON if it is JSON of any kind; otherwise `undefined`. */
export function readJson(text: string): JsonText | undefined {
  const wellFormed = escapeLoneSurrogates(text);
  return isJson(wellFormed) ? new JsonText(wellFormed) : undefined;
}

/** Maximum nesting of a JSON text that is kept without being parsed. The server can't read a deeper one. */
const textDepthLimit = 10_000;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
  } catch {
    return false;
  }
  return text.length < textDepthLimit || measureDepth(text) <= textDepthLimit;
}

/** Returns the nesting of a valid JSON text. */
function measureDepth(text: string): number {
  let [depth, deepest] = [0, 0];
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = findStringEnd(text, index) - 1;
        break;
      case openBrace:
      case openBracket:
        depth += 1;
        deepest = Math.max(deepest, depth);
        break;
      case closeBrace:
      case closeBracket:
        depth -= 1;
        break;
      default:
    }
  }
  return deepest;
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Splits a valid JSON object into its members. */
function splitMembers(text: string): ReadonlyMap<string, JsonText> {
  const members = new Map<string, JsonText>();
  for (let index = text.indexOf("{") + 1; ;) {
    index = skipSpace(text, index);
    if (text.charCodeAt(index) === comma) {
      index = skipSpace(text, index + 1);
    }
    if (text.charCodeAt(index) === closeBrace) {
      return members;
    }
    const nameEnd = findStringEnd(text, index);
    const name = JSON.parse(text.slice(index, nameEnd)) as string;
    const start = skipSpace(text, text.indexOf(":", nameEnd) + 1);
    index = findValueEnd(text, start);
    members.set(name, new JsonText(text.slice(start, index)));
  }
}

/** Returns the position after the value that begins at `start`. */
function findValueEnd(text: string, start: number): number {
  const firstUnit = text.charCodeAt(start);
  if (firstUnit === quote) {
    return findStringEnd(text, start);
  }
  if (firstUnit !== openBrace && firstUnit !== openBracket) {
    let end = start;
    while (!isValueEnd(text.charCodeAt(end))) {
      end += 1;
    }
    return end;
  }
  let depth = 0;
  for (let index = start; ; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === quote) {
      index = findStringEnd(text, index) - 1;
    } else if (unit === openBrace || unit === openBracket) {
      depth += 1;
    } else if (unit === closeBrace || unit === closeBracket) {
      depth -= 1;
      if (depth === 0) {
        return index + 1;
      }
    }
  }
}

/** Returns the position after the string whose opening quote is at `start`. */
function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) {
      escapes += 1;
    }
    if (escapes % 2 === 0) {
      return end + 1;
    }
  }
}

function skipSpace(text: string, start: number): number {
  let index = start;
  while (isSpace(text.charCodeAt(index))) {
    index += 1;
  }
  return index;
}

const isSpace = (unit: number): boolean =>
  unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;

/** Whether a unit follows a number or a literal. The end of a text is `NaN`. */
const isValueEnd = (unit: number): boolean =>
  unit === comma ||
  unit === closeBrace ||
  unit === closeBracket ||
  isSpace(unit) ||
  Number.isNaN(unit);

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

/** Escapes lone surrogates, which can't be encoded in UTF-8. In JSON, the escape represents the same character. */
const escapeLoneSurrogates = (text: string): string =>
  text.isWellFormed()
    ? text
    : text.replaceAll(
        /\p{Surrogate}/gu,
        (surrogate) => `\\u${surrogate.charCodeAt(0).toString(16)}`,
      );

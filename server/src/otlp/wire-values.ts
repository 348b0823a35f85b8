import { latestMicros } from "../model/parse-time.ts";
import { anyValueType, arrayValueType, keyValueListType } from "./proto-types.ts";
import type { MessageType } from "./proto-types.ts";
import type { Attributes, AttributeObject, AttributeValue } from "millrace/spans";

// Functions that read values of a decoded request in either encoding. In a request decoded from protobuf, ids are bytes
// and 64-bit integers are objects of two halves. In JSON, ids are hexadecimal digits and 64-bit integers are decimal
// strings (OTLP, "JSON Protobuf Encoding").

/** Thrown for a value that can't be decoded. The message is the reason. */
export class ValueFault extends Error {}

/** Maximum nesting of arrays and key-value lists in one attribute. */
const depthLimit = 32;

type MembersByName = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is MembersByName =>
  typeof value === "object" && value !== null;

/**
 * Returns a member of a message; `undefined` if it was not sent. JSON names are camelCase. The snake_case names of
 * the protobuf schema are accepted too, because some clients send them.
 */
export function readMember(message: unknown, name: string): unknown {
  if (!isObject(message)) {
    return undefined;
  }
  if (Object.hasOwn(message, name)) {
    return message[name] ?? undefined;
  }
  const snakeCaseName = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.hasOwn(message, snakeCaseName) ? (message[snakeCaseName] ?? undefined) : undefined;
}

/** Returns the items of a repeated member. */
export function readItems(message: unknown, name: string): readonly unknown[] {
  const value: unknown = readMember(message, name);
  return Array.isArray(value) ? value : [];
}

/** Returns a string member of a decoded message; an empty string if it has no such member. */
export function readText(message: unknown, name: string): string {
  const value = readMember(message, name);
  return typeof value === "string" ? value : "";
}

/** The last time that can be stored, in nanoseconds since the Unix epoch. */
const latestNanos = BigInt(latestMicros) * 1_000n + 999n;

/** Reads a time in nanoseconds since the Unix epoch; 0 if it is absent, or can't be stored. */
export function readNanos(message: unknown, name: string, warn: Warn): bigint {
  const value = readMember(message, name);
  const integer = value === undefined ? 0n : toInteger(value);
  // A decoder of protobuf returns the two halves of the unsigned number as signed ones.
  const nanos = integer !== undefined && isHalves(value) ? BigInt.asUintN(64, integer) : integer;
  if (nanos !== undefined && nanos >= 0n && nanos <= latestNanos) {
    return nanos;
  }
  warn(
    `${name} is not a time between 1970-01-01 and 2255-06-05: ${String(nanos ?? toText(value)).slice(0, 80)}`,
  );
  return 0n;
}

/** Reads a small number, or the name of an enumeration's constant, which some clients send in JSON. */
export function readEnumOrNumber(
  message: unknown,
  name: string,
  names: readonly string[] = [],
): number {
  const value = readMember(message, name);
  if (typeof value === "string" && names.includes(value)) {
    return names.indexOf(value);
  }
  return Number(toInteger(value) ?? 0n);
}

/**
 * Reads an id as lowercase hexadecimal digits; an empty text if it is absent or zero. In JSON that follows the
 * general rules of protobuf, the id is base64.
 *
 * @throws ValueFault the length is wrong.
 */
export function readHexId(message: unknown, name: string, byteCount: number): string {
  const value = readMember(message, name) ?? "";
  const hex = toHex(value, byteCount);
  if (hex === undefined) {
    throw new ValueFault(
      `${name} is not ${byteCount} bytes: ${JSON.stringify(value).slice(0, 80)}`,
    );
  }
  return /^0*$/.test(hex) ? "" : hex;
}

function toHex(value: unknown, byteCount: number): string | undefined {
  if (typeof value === "string" && value.length !== byteCount * 2) {
    const decoded = Buffer.from(value, "base64");
    const isBase64 = decoded.length === byteCount && decoded.toString("base64") === value;
    return value === "" || isBase64 ? decoded.toString("hex") : undefined;
  }
  if (typeof value === "string") {
    return /^[\da-f]+$/i.test(value) ? value.toLowerCase() : undefined;
  }
  return value instanceof Uint8Array && (value.length === byteCount || value.length === 0)
    ? Buffer.from(value).toString("hex")
    : undefined;
}

/** Receives what is wrong with a value. The value itself is kept in another form. */
export type Warn = (text: string) => void;

/** Reads the attributes of a message. A malformed value is kept as text, and reported. */
export function readAttributes(message: unknown, warn: Warn): Attributes {
  const attributesByName = new Map<string, AttributeValue>();
  const encoded = readMember(message, "attributes");
  if (encoded !== undefined && !Array.isArray(encoded)) {
    warn("attributes is not a list");
  }
  for (const entry of readItems(message, "attributes")) {
    const name = readText(entry, "key");
    const warnOfName: Warn = (text) => warn(`${name} ${text}`);
    attributesByName.set(name, toValue(readMember(entry, "value"), 1, warnOfName));
  }
  return attributesByName;
}

/**
 * Converts the value of an attribute. In a protobuf request, `encoded` is still bytes. Only one level of the value is
 * decoded at a time, so neither deep nesting nor a malformed value makes the whole request fail.
 */
function toValue(encoded: unknown, depth: number, warn: Warn): AttributeValue {
  if (depth > depthLimit) {
    warn(`has more than ${depthLimit} levels; those below are kept as text`);
    return encoded instanceof Uint8Array ? toBase64(encoded) : toText(encoded ?? null);
  }
  const anyValue = decodeBytes(encoded, anyValueType, warn);
  if (typeof anyValue === "string") {
    return anyValue;
  }
  for (const [kind, read] of valueReaders) {
    const value = readMember(anyValue, kind);
    if (value !== undefined) {
      return read(value, { depth, warn });
    }
  }
  return null;
}

/** Decodes a message of protobuf, and returns JSON unchanged. Bytes that can't be decoded are returned as base64. */
function decodeBytes(encoded: unknown, type: MessageType, warn: Warn): unknown {
  if (!(encoded instanceof Uint8Array)) {
    return encoded;
  }
  try {
    return type.decode(encoded);
  } catch {
    warn("is malformed; its bytes are kept as base64");
    return toBase64(encoded);
  }
}

interface ReadOptions {
  readonly depth: number;
  readonly warn: Warn;
}

type ReadValue = (value: unknown, options: ReadOptions) => AttributeValue;

const valueReaders: readonly (readonly [string, ReadValue])[] = [
  ["stringValue", toText],
  ["boolValue", toBoolean],
  ["intValue", toIntegerOrText],
  ["doubleValue", toDouble],
  ["arrayValue", toList],
  ["kvlistValue", toAttributeObject],
  ["bytesValue", (value) => (value instanceof Uint8Array ? toBase64(value) : toText(value))],
];

function toBoolean(value: unknown, { warn }: ReadOptions): AttributeValue {
  if (typeof value === "boolean" || value === "true" || value === "false") {
    return value === true || value === "true";
  }
  warn("is not a boolean");
  return toText(value);
}

/** Reads a 64-bit integer. Any other number or text is kept as it is. */
function toIntegerOrText(value: unknown, { warn }: ReadOptions): AttributeValue {
  const integer = isFraction(value) ? undefined : toInteger(value);
  if (integer !== undefined && BigInt.asIntN(64, integer) === integer) {
    return toNumber(integer);
  }
  warn("is not a 64-bit integer");
  return typeof value === "number" && Number.isFinite(value) ? value : toText(value);
}

const isFraction = (value: unknown): boolean =>
  typeof value === "number" && !Number.isInteger(value);

/** Reads a floating-point number. JSON has no infinity and no NaN, so these are returned as strings. */
function toDouble(value: unknown): number | string {
  const number = typeof value === "string" || typeof value === "number" ? Number(value) : undefined;
  return number !== undefined && Number.isFinite(number) ? number : toText(value);
}

function toList(value: unknown, { depth, warn }: ReadOptions): AttributeValue {
  const decoded = decodeBytes(value, arrayValueType, warn);
  return typeof decoded === "string"
    ? decoded
    : readItems(decoded, "values").map((item) => toValue(item, depth + 1, warn));
}

function toAttributeObject(value: unknown, { depth, warn }: ReadOptions): AttributeValue {
  const list = decodeBytes(value, keyValueListType, warn);
  if (typeof list === "string") {
    return list;
  }
  const attributesByName = Object.create(null) as Record<string, AttributeValue>;
  for (const entry of readItems(list, "values")) {
    attributesByName[readText(entry, "key")] = toValue(readMember(entry, "value"), depth + 1, warn);
  }
  return attributesByName satisfies AttributeObject;
}

/** Returns a string or a number as text, and any other value as JSON. */
function toText(value: unknown): string {
  return typeof value === "string" || typeof value === "number"
    ? String(value)
    : JSON.stringify(value);
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

const toNumber = (value: bigint): number | bigint =>
  BigInt.asIntN(54, value) === value ? Number(value) : value;

function toInteger(value: unknown): bigint | undefined {
  if (typeof value === "number" && Number.isFinite(value)) {
    return BigInt(Math.trunc(value));
  }
  if (typeof value === "string" && /^-?\d{1,20}$/.test(value)) {
    return BigInt(value);
  }
  return isHalves(value) ? (BigInt(value.high | 0) << 32n) | BigInt(value.low >>> 0) : undefined;
}

/** A 64-bit integer as the protobuf decoder returns it: its lower and its upper 32 bits. */
interface Halves {
  readonly low: number;
  readonly high: number;
}

const isHalves = (value: unknown): value is Halves =>
  isObject(value) && typeof value["low"] === "number" && typeof value["high"] === "number";

import type { Attributes, AttributeObject, AttributeValue } from "./span.ts";

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

export function readText(message: unknown, name: string): string {
  const value = readMember(message, name);
  return typeof value === "string" ? value : "";
}

/** Reads an unsigned 64-bit integer. */
export const readUnsigned = (message: unknown, name: string): bigint =>
  BigInt.asUintN(64, toInteger(readMember(message, name)) ?? 0n);

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

/**
 * Reads the attributes of a message.
 *
 * @throws ValueFault a value is nested too deeply.
 */
export function readAttributes(message: unknown): Attributes {
  const attributesByName = new Map<string, AttributeValue>();
  for (const entry of readItems(message, "attributes")) {
    attributesByName.set(readText(entry, "key"), toValue(readMember(entry, "value"), 1));
  }
  return attributesByName;
}

function toValue(anyValue: unknown, depth: number): AttributeValue {
  if (depth > depthLimit) {
    throw new ValueFault(`an attribute has more than ${depthLimit} levels`);
  }
  for (const [kind, read] of valueReaders) {
    const value = readMember(anyValue, kind);
    if (value !== undefined) {
      return read(value, depth);
    }
  }
  return null;
}

type ReadValue = (value: unknown, depth: number) => AttributeValue;

const valueReaders: readonly (readonly [string, ReadValue])[] = [
  ["stringValue", toText],
  ["boolValue", (value) => value === true || value === "true"],
  ["intValue", (value) => toNumber(BigInt.asIntN(64, toInteger(value) ?? 0n))],
  ["doubleValue", toDouble],
  [
    "arrayValue",
    (value, depth) => readItems(value, "values").map((item) => toValue(item, depth + 1)),
  ],
  ["kvlistValue", toAttributeObject],
  ["bytesValue", (value) => (value instanceof Uint8Array ? toBase64(value) : toText(value))],
];

/** Reads a floating-point number. JSON has no infinity and no NaN, so these are returned as strings. */
function toDouble(value: unknown): number | string {
  const number = typeof value === "string" || typeof value === "number" ? Number(value) : undefined;
  return number !== undefined && Number.isFinite(number) ? number : toText(value);
}

function toAttributeObject(value: unknown, depth: number): AttributeObject {
  const attributesByName = Object.create(null) as Record<string, AttributeValue>;
  for (const entry of readItems(value, "values")) {
    attributesByName[readText(entry, "key")] = toValue(readMember(entry, "value"), depth + 1);
  }
  return attributesByName;
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
  if (isObject(value) && typeof value["low"] === "number" && typeof value["high"] === "number") {
    return (BigInt(value["high"] | 0) << 32n) | BigInt(value["low"] >>> 0);
  }
  return undefined;
}

import { types } from "node:util";

/**
 * Returns the value as which Millrace records an object: a list, a plain object or a text. Returns the object itself if
 * it is recorded without any text of its own, such as a date, bytes or a stream.
 */
export function toRecordedForm(value: object): unknown {
  if (ArrayBuffer.isView(value) || types.isDate(value)) {
    return value;
  }
  const toJson: unknown = Reflect.get(value, "toJSON");
  const json: unknown = typeof toJson === "function" ? Reflect.apply(toJson, value, [""]) : value;
  return typeof json === "object" && json !== null ? toPlainForm(json) : json;
}

/** Converts the instance of a class. As in JSON.stringify, a method `toJSON` of its own is not called. */
function toPlainForm(value: object): unknown {
  if (Array.isArray(value)) {
    return value;
  }
  if (types.isMap(value)) {
    const entries = [...value];
    return entries.every(([key]) => typeof key === "string")
      ? Object.fromEntries(entries)
      : entries;
  }
  if (types.isSet(value)) {
    return [...value];
  }
  if (types.isNativeError(value) || value instanceof Error) {
    return Object.fromEntries([...readErrorEntries(value), ...Object.entries(value)]);
  }
  if (types.isBoxedPrimitive(value)) {
    return value.valueOf();
  }
  if (value instanceof Headers) {
    return Object.fromEntries(value);
  }
  if (types.isRegExp(value) || value instanceof URLSearchParams) {
    return String(value);
  }
  return isOpaque(value) ? value : { ...value };
}

const readErrorEntries = (error: Error): [key: string, value: unknown][] =>
  ["name", "message", "stack", "cause", "errors"]
    .filter((key) => key in error)
    .map((key) => [key, Reflect.get(error, key)]);

/** Whether only the kind of an object is recorded, because reading its content would change it. */
const isOpaque = (value: object): boolean =>
  types.isDate(value) ||
  types.isAnyArrayBuffer(value) ||
  types.isGeneratorObject(value) ||
  opaqueClasses.some((opaqueClass) => value instanceof opaqueClass) ||
  typeof Reflect.get(value, "pipe") === "function";

const opaqueClasses = [
  Promise,
  WeakMap,
  WeakSet,
  WeakRef,
  ReadableStream,
  WritableStream,
  TransformStream,
  Request,
  Response,
  Blob,
  AbortSignal,
];

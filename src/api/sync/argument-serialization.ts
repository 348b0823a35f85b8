import { File } from "node:buffer";
import { types } from "node:util";
import { ValidationError } from "../../model/errors.ts";

/** Arguments that can be sent to another thread. */
export interface SerializedArguments {
  readonly args: readonly unknown[];
  /** Values that the receiving thread must recreate, because the structured clone changes their type. */
  readonly changedValues: readonly ChangedValue[];
}

/** The property `name` of `holder`, an object within the arguments, and the type of the original value. */
interface ChangedValue {
  readonly holder: object;
  readonly name: string;
  readonly original:
    | { readonly kind: "buffer" }
    | { readonly kind: "url" }
    | { readonly kind: "file"; readonly fileName: string; readonly lastModified: number };
}

/** Depth of the properties of an argument. Values at a greater depth belong to a payload. */
const optionDepth = 1;

/**
 * Copies arguments so that they have the same meaning in another thread. Payloads, which are later sent as
 * JSON, are copied as `JSON.stringify` reads them: `toJSON` is called, and functions are left out.
 *
 * @throws {@link ValidationError} if an argument or a property of one is a function or a stream, or can't be
 * read.
 */
export function serializeArguments(args: readonly unknown[]): SerializedArguments {
  const changedValues: ChangedValue[] = [];
  const copies = new Map<object, unknown>();

  function copy(value: unknown, depth: number): unknown {
    if (typeof value === "function" || typeof value === "symbol") {
      if (depth <= optionDepth) {
        throw createTransferError(`a ${typeof value}`);
      }
      return undefined;
    }
    if (typeof value !== "object" || value === null) {
      return value;
    }
    if (!copies.has(value)) {
      copies.set(value, undefined);
      copies.set(value, copyObject(value, depth));
    }
    return copies.get(value);
  }

  function copyObject(value: object, depth: number): unknown {
    if (Buffer.isBuffer(value)) {
      // This copies the bytes, because the Buffer's memory may be part of Node's shared pool.
      return new Uint8Array(value);
    }
    if (value instanceof URL) {
      return value.href;
    }
    if (isClonedByStructuredClone(value)) {
      return value;
    }
    if (Array.isArray(value)) {
      return copyInto(Array.from({ length: value.length }), value, depth);
    }
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return copy(Reflect.apply(value.toJSON, value, [""]), depth);
    }
    if (Symbol.asyncIterator in value || (depth <= optionDepth && Symbol.iterator in value)) {
      throw createTransferError("a stream or an iterator");
    }
    return copyInto({}, value, depth);
  }

  /** Registers the copy before filling it, so that a value that contains itself is copied once. */
  function copyInto(target: object, value: object, depth: number): object {
    copies.set(value, target);
    for (const [name, member] of Object.entries(value) as [string, unknown][]) {
      const property = { value: copy(member, depth + 1), ...dataPropertyFlags };
      // The property is defined instead of assigned, so that `__proto__` in a payload becomes an ordinary property.
      Object.defineProperty(target, name, property);
      const original = describeOriginal(member);
      if (original !== undefined) {
        changedValues.push({ holder: target, name, original });
      }
    }
    return target;
  }

  try {
    return { args: copyInto([], args, -1) as unknown[], changedValues };
  } catch (cause) {
    // The value itself may throw, for example in `toJSON` or a getter.
    throw cause instanceof ValidationError ? cause : createTransferError("this argument", cause);
  }
}

/** Restores, in the receiving thread, the values whose type the structured clone changed. */
export function restoreTypes(changedValues: readonly ChangedValue[]): void {
  for (const { holder, name, original } of changedValues) {
    Reflect.set(holder, name, restoreValue(Reflect.get(holder, name), original));
  }
}

function restoreValue(clone: unknown, original: ChangedValue["original"]): unknown {
  switch (original.kind) {
    case "buffer": {
      const { buffer, byteOffset, byteLength } = clone as Uint8Array;
      return Buffer.from(buffer, byteOffset, byteLength);
    }
    case "url":
      return new URL(clone as string);
    case "file": {
      const blob = clone as Blob;
      return new File([blob], original.fileName, {
        type: blob.type,
        lastModified: original.lastModified,
      });
    }
  }
}

function describeOriginal(member: unknown): ChangedValue["original"] | undefined {
  if (Buffer.isBuffer(member)) {
    return { kind: "buffer" };
  }
  if (member instanceof File) {
    return { kind: "file", fileName: member.name, lastModified: member.lastModified };
  }
  return member instanceof URL ? { kind: "url" } : undefined;
}

const dataPropertyFlags = { enumerable: true, writable: true, configurable: true };

const createTransferError = (description: string, cause?: unknown): ValidationError =>
  new ValidationError(
    `A blocking call can't take ${description}, which can't be sent to another thread; use the asynchronous call and await it instead`,
    cause === undefined ? {} : { cause },
  );

/**
 * Whether the structured clone copies the value unchanged. A File becomes a Blob, which {@link restoreTypes} converts
 * back.
 */
const isClonedByStructuredClone = (value: object): boolean =>
  types.isDate(value) ||
  types.isRegExp(value) ||
  types.isAnyArrayBuffer(value) ||
  ArrayBuffer.isView(value) ||
  types.isMap(value) ||
  types.isSet(value) ||
  types.isBoxedPrimitive(value) ||
  value instanceof Blob;

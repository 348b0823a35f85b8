import { types } from "node:util";
import { ValidationError } from "../model/errors.ts";

/** Arguments that can cross to another thread. */
export interface Crossing {
  readonly args: readonly unknown[];
  /** Those of the byte arrays in `args` that were `Buffer`s. */
  readonly buffers: readonly Uint8Array[];
}

/** Arguments are at depth 0, what is named in them at 1; deeper there are payloads. */
const memberDepth = 1;

/**
 * Copies arguments so that they mean in another thread what they mean here. What is sent as JSON in
 * the end is taken as JSON takes it: `toJSON` is asked, functions inside a payload are left out.
 *
 * @throws {@link ValidationError} a function or a stream is an argument or a member of one, or one
 * can't be read.
 */
export function crossingOf(args: readonly unknown[]): Crossing {
  const buffers: Uint8Array[] = [];
  const copies = new Map<object, unknown>();

  function copy(value: unknown, depth: number): unknown {
    if (typeof value === "function" || typeof value === "symbol") {
      if (depth <= memberDepth) {
        throw cannotCross(`a ${typeof value}`);
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
      const bytes = new Uint8Array(value);
      buffers.push(bytes);
      return bytes;
    }
    if (isClonedAsIs(value)) {
      return value;
    }
    if (Array.isArray(value)) {
      return copyInto(Array.from({ length: value.length }), value, depth);
    }
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return copy(Reflect.apply(value.toJSON, value, [""]), depth);
    }
    if (Symbol.asyncIterator in value || (depth <= memberDepth && Symbol.iterator in value)) {
      throw cannotCross("a stream or an iterator");
    }
    return copyInto({}, value, depth);
  }

  /** Known before it is filled: a value that contains itself crosses as one. */
  function copyInto(target: object, value: object, depth: number): object {
    copies.set(value, target);
    for (const [name, member] of Object.entries(value)) {
      const property = { value: copy(member, depth + 1), ...plainMember };
      // Defined, not assigned: `__proto__` is a name like others in a payload.
      Object.defineProperty(target, name, property);
    }
    return target;
  }

  try {
    return { args: args.map((arg) => copy(arg, 0)), buffers };
  } catch (cause) {
    // Such as a `toJSON` or a getter that throws.
    throw cause instanceof ValidationError ? cause : cannotCross("this argument", cause);
  }
}

/** In the other thread: makes `Buffer`s of those byte arrays again, where they stand in the arguments. */
export function restoreBuffers(buffers: readonly Uint8Array[]): void {
  for (const bytes of buffers) {
    Object.setPrototypeOf(bytes, Buffer.prototype as object);
  }
}

const plainMember = { enumerable: true, writable: true, configurable: true };

const cannotCross = (what: string, cause?: unknown): ValidationError =>
  new ValidationError(
    `A blocking call can't take ${what}: it can't cross to another thread; await the call instead`,
    cause === undefined ? {} : { cause },
  );

/** What the structured clone keeps whole. */
const isClonedAsIs = (value: object): boolean =>
  types.isDate(value) ||
  types.isRegExp(value) ||
  types.isAnyArrayBuffer(value) ||
  ArrayBuffer.isView(value) ||
  types.isMap(value) ||
  types.isSet(value) ||
  types.isBoxedPrimitive(value) ||
  value instanceof Blob;

import { File } from "node:buffer";
import { types } from "node:util";
import { ValidationError } from "../../model/errors.ts";

/** Arguments that can cross to another thread. */
export interface SerializedArguments {
  readonly args: readonly unknown[];
  /** What is made anew there, because a clone is not the same. */
  readonly revivals: readonly Revival[];
}

/** The member `name` of `holder`, which is somewhere in the arguments: its clone, and what it was. */
interface Revival {
  readonly holder: object;
  readonly name: string;
  readonly was:
    | { readonly kind: "buffer" }
    | { readonly kind: "url" }
    | { readonly kind: "file"; readonly fileName: string; readonly lastModified: number };
}

/** What is named in an argument is at depth 1; deeper there are payloads. */
const optionDepth = 1;

/**
 * Copies arguments so that they mean the same in another thread. Payloads, which are sent as JSON in the end, are
 * read as JSON reads them: `toJSON` is called, functions inside a payload are left out.
 *
 * @throws {@link ValidationError} a function or a stream is an argument or a member of one, or one
 * can't be read.
 */
export function serializeArguments(args: readonly unknown[]): SerializedArguments {
  const revivals: Revival[] = [];
  const copies = new Map<object, unknown>();

  function copy(value: unknown, depth: number): unknown {
    if (typeof value === "function" || typeof value === "symbol") {
      if (depth <= optionDepth) {
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
      // Not its own memory, which may be a part of the pool.
      return new Uint8Array(value);
    }
    if (value instanceof URL) {
      return value.href;
    }
    if (isClonedWhole(value)) {
      return value;
    }
    if (Array.isArray(value)) {
      return copyInto(Array.from({ length: value.length }), value, depth);
    }
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return copy(Reflect.apply(value.toJSON, value, [""]), depth);
    }
    if (Symbol.asyncIterator in value || (depth <= optionDepth && Symbol.iterator in value)) {
      throw cannotCross("a stream or an iterator");
    }
    return copyInto({}, value, depth);
  }

  /** Known before it is filled: a value that contains itself crosses as one. */
  function copyInto(target: object, value: object, depth: number): object {
    copies.set(value, target);
    for (const [name, member] of Object.entries(value) as [string, unknown][]) {
      const property = { value: copy(member, depth + 1), ...plainMember };
      // Defined, not assigned: `__proto__` is a name like others in a payload.
      Object.defineProperty(target, name, property);
      const was = kindOf(member);
      if (was !== undefined) {
        revivals.push({ holder: target, name, was });
      }
    }
    return target;
  }

  try {
    return { args: copyInto([], args, -1) as unknown[], revivals };
  } catch (cause) {
    // Such as a `toJSON` or a getter that throws.
    throw cause instanceof ValidationError ? cause : cannotCross("this argument", cause);
  }
}

/** In the other thread: puts back, into the arguments, what the clone made something else of. */
export function revive(revivals: readonly Revival[]): void {
  for (const { holder, name, was } of revivals) {
    Reflect.set(holder, name, revived(Reflect.get(holder, name), was));
  }
}

function revived(clone: unknown, was: Revival["was"]): unknown {
  switch (was.kind) {
    case "buffer": {
      const { buffer, byteOffset, byteLength } = clone as Uint8Array;
      return Buffer.from(buffer, byteOffset, byteLength);
    }
    case "url":
      return new URL(clone as string);
    case "file": {
      const blob = clone as Blob;
      return new File([blob], was.fileName, { type: blob.type, lastModified: was.lastModified });
    }
  }
}

function kindOf(member: unknown): Revival["was"] | undefined {
  if (Buffer.isBuffer(member)) {
    return { kind: "buffer" };
  }
  if (member instanceof File) {
    return { kind: "file", fileName: member.name, lastModified: member.lastModified };
  }
  return member instanceof URL ? { kind: "url" } : undefined;
}

const plainMember = { enumerable: true, writable: true, configurable: true };

const cannotCross = (what: string, cause?: unknown): ValidationError =>
  new ValidationError(
    `A blocking call can't take ${what}: it can't cross to another thread; await the call instead`,
    cause === undefined ? {} : { cause },
  );

/** What the structured clone keeps, files by what is in them. */
const isClonedWhole = (value: object): boolean =>
  types.isDate(value) ||
  types.isRegExp(value) ||
  types.isAnyArrayBuffer(value) ||
  ArrayBuffer.isView(value) ||
  types.isMap(value) ||
  types.isSet(value) ||
  types.isBoxedPrimitive(value) ||
  value instanceof Blob;

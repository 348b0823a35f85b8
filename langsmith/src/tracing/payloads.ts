import { readVariable, warnOnce } from "../environment.ts";
import type { KVMap } from "../schemas.ts";

/** Whether a value is a plain object, which may come from another realm, such as a `vm` context. */
export function isKVMap(value: unknown): value is KVMap {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === null ||
      prototype === Object.prototype ||
      Object.getPrototypeOf(prototype) === null) &&
    !(Symbol.toStringTag in value) &&
    !(Symbol.iterator in value)
  );
}

/** Converts the arguments of a traced function to the inputs of its run. */
export function toInputs(args: readonly unknown[]): KVMap {
  const [first] = args;
  if (first === null) {
    return { inputs: null };
  }
  if (first === undefined) {
    return {};
  }
  if (args.length > 1) {
    return { args };
  }
  return isKVMap(first) ? first : { input: first };
}

/** Converts the result of a traced function to the outputs of its run. */
export const toOutputs = (value: unknown): KVMap =>
  isKVMap(value) ? { ...value } : { outputs: value };

/** A hook of `traceable` that converts a payload. */
export interface PayloadHook {
  readonly name: "processInputs" | "processOutputs";
  readonly convert: ((payload: KVMap) => KVMap | Promise<KVMap>) | undefined;
}

/**
 * Calls a hook. If the hook fails, a marker is recorded instead of the payload, which may contain what the hook should
 * have removed.
 */
export function callHook(payload: KVMap, { name, convert }: PayloadHook): KVMap | Promise<KVMap> {
  if (convert === undefined) {
    return payload;
  }
  const handleFailure = (): KVMap => {
    if (["true", "1"].includes(readVariable("ALLOW_UNPROCESSED_PAYLOADS")?.toLowerCase() ?? "")) {
      warnOnce(
        `${name} threw. The unprocessed payload is recorded, because LANGSMITH_ALLOW_UNPROCESSED_PAYLOADS is set.`,
      );
      return payload;
    }
    warnOnce(`${name} threw, so a marker is recorded in place of the payload.`);
    const kind = name === "processInputs" ? "inputs" : "outputs";
    return { ls_error: `Processing failed; ${kind} dropped (${name})` };
  };
  try {
    const converted = convert(payload);
    return isThenable(converted) ? Promise.resolve(converted).catch(handleFailure) : converted;
  } catch {
    return handleFailure();
  }
}

/** Whether a value has a method `then`, as a promise does. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" &&
  value !== null &&
  "then" in value &&
  typeof value.then === "function";

/** Whether a value can be iterated with `for await`. */
export const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" &&
  value !== null &&
  typeof Reflect.get(value, Symbol.asyncIterator) === "function";

/** Whether a value is an iterator. */
export const isIterator = (value: unknown): value is Iterator<unknown> =>
  typeof value === "object" &&
  value !== null &&
  "next" in value &&
  typeof value.next === "function";

/** Whether a value is a web stream. */
export const isReadableStream = (value: unknown): value is ReadableStream<unknown> =>
  typeof value === "object" &&
  value !== null &&
  "getReader" in value &&
  typeof value.getReader === "function";

import type { CallRecording } from "./call-recording.ts";
import { captureContext, withRun } from "./context.ts";
import { isRevokedProxy } from "../tape/payload.ts";
import { watchIterable, watchIterator } from "./iterators.ts";
import { isObject, isThenable, overrideMethods } from "../tape/override-methods.ts";
import type { Replacements } from "../tape/override-methods.ts";
import { watchReadable } from "./streams.ts";

/**
 * Records the result of a traced call and returns the value to hand to the caller. A result that continues after the
 * call (a promise, a generator, a stream) is replaced by an observed one that behaves the same. Any other value is
 * returned unchanged. Never throws, unless the call stack is exhausted.
 */
export function watchResult(result: unknown, recording: CallRecording): unknown {
  try {
    return watch(result, recording);
  } catch {
    // The result can't be observed, because it is a revoked proxy or, for example, a stream that already has a reader.
    // It is returned unchanged, and the run ends now.
    if (isRevokedProxy(result)) {
      recording.recordReturn(result);
    } else {
      recording.recordStreamEnd();
    }
    return result;
  }
}

function watch(result: unknown, recording: CallRecording): unknown {
  if (!isObject(result)) {
    recording.recordReturn(result);
    return result;
  }
  if (isPlainPromise(result)) {
    return watchPromise(result, recording);
  }
  if (isThenable(result)) {
    return watchThenable(result, recording);
  }
  if (result instanceof ReadableStream) {
    return watchReadable(result, recording);
  }
  if (isNodeStream(result)) {
    watchNodeStream(result, recording);
    return result;
  }
  if (isIterator(result)) {
    return watchIterator(result, recording);
  }
  if (typeof result[Symbol.asyncIterator] === "function") {
    return watchIterable(result, recording);
  }
  recording.recordReturn(result);
  return result;
}

function watchPromise(promise: Promise<unknown>, recording: CallRecording): Promise<unknown> {
  return promise.then(
    (value) => watchResult(value, recording),
    (error: unknown) => {
      recording.recordFailure(error);
      throw error;
    },
  );
}

/**
 * Observes a thenable of another library. Such an object may start its work only when it is awaited, and may have more
 * methods than a promise. So nothing is called on it before the caller awaits it.
 */
function watchThenable<Target extends PromiseLike<unknown>>(
  target: Target,
  recording: CallRecording,
): Target {
  const callThen = (onValue: unknown, onError: unknown): unknown => {
    const inContext = captureContext();
    const succeed = (value: unknown): unknown => {
      const watched = watchResult(value, recording);
      return isFunction(onValue) ? inContext(() => onValue(watched)) : watched;
    };
    const fail = (error: unknown): unknown => {
      recording.recordFailure(error);
      if (isFunction(onError)) {
        return inContext(() => onError(error));
      }
      throw error;
    };
    return withRun(recording.run, () => target.then(succeed, fail));
  };
  const replacements: Replacements = new Map([
    ["then", callThen],
    ["catch", (onError: unknown) => callThen(undefined, onError)],
    [
      "finally",
      (onEnd: unknown) =>
        Promise.resolve(callThen(undefined, undefined)).finally(() =>
          isFunction(onEnd) ? onEnd() : undefined,
        ),
    ],
  ]);
  return overrideMethods(target, replacements);
}

/** Observes a Node stream without replacing it, because other streams compare it by identity. */
function watchNodeStream(stream: NodeStream, recording: CallRecording): void {
  stream.once("close", () => {
    const { errored, readableEnded } = stream;
    if (errored !== undefined && errored !== null) {
      recording.recordFailure(errored);
    } else if (readableEnded === false) {
      recording.recordCancellation();
    } else {
      recording.recordStreamEnd();
    }
  });
}

/** The part of a Node stream that is used here. */
interface NodeStream {
  once(event: "close", listener: () => void): unknown;
  readonly errored?: unknown;
  readonly readableEnded?: unknown;
}

/** An object whose fields are not known. */
type Fields = Readonly<Record<PropertyKey, unknown>>;

const isFunction = (value: unknown): value is (argument?: unknown) => unknown =>
  typeof value === "function";

const isNodeStream = (value: Fields): value is Fields & NodeStream =>
  typeof value["pipe"] === "function" && typeof value["once"] === "function";

const isIterator = (value: Fields): boolean =>
  typeof value["next"] === "function" &&
  (typeof value[Symbol.iterator] === "function" ||
    typeof value[Symbol.asyncIterator] === "function");

/** Whether a value is a direct instance of Promise without own properties, so that another promise can replace it. */
const isPlainPromise = (value: object): value is Promise<unknown> =>
  value instanceof Promise &&
  Object.getPrototypeOf(value) === Promise.prototype &&
  Object.keys(value).length === 0;

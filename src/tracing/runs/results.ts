import type { CallRecording } from "./call-recording.ts";
import { keepContext, withRun } from "./context.ts";
import { isUnreadable } from "../tape/payload.ts";
import { watchIterable, watchIterator } from "./iterators.ts";
import { isObject, isThenable, createPlaceholder } from "../tape/placeholder.ts";
import type { Replacements } from "../tape/placeholder.ts";
import { watchReadable } from "./streams.ts";

/**
 * Records what a traced call answered, and gives what its caller is to have: the value itself, or
 * where it goes on after the call (a promise, a generator, a stream) something that passes for it
 * and is watched. Throws only what the caller's own value throws.
 */
export function watchResult(result: unknown, recording: CallRecording): unknown {
  try {
    return watch(result, recording);
  } catch {
    // It can't be watched, such as a stream that is being read already: it is handed on as it is.
    if (isUnreadable(result)) {
      recording.returned(result);
    } else {
      recording.finished();
    }
    return result;
  }
}

function watch(result: unknown, recording: CallRecording): unknown {
  if (!isObject(result)) {
    recording.returned(result);
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
  recording.returned(result);
  return result;
}

function watchPromise(promise: Promise<unknown>, recording: CallRecording): Promise<unknown> {
  return promise.then(
    (value) => watchResult(value, recording),
    (error: unknown) => {
      recording.failed(error);
      throw error;
    },
  );
}

/**
 * Observes a thenable of another library. It may start its work only when it is awaited, and may have methods of its
 * own, so nothing is called on it before the caller does.
 */
function watchThenable<Target extends PromiseLike<unknown>>(
  target: Target,
  recording: CallRecording,
): Target {
  const settled = (onValue: unknown, onError: unknown): unknown => {
    const inContext = keepContext();
    const succeed = (value: unknown): unknown => {
      const watched = watchResult(value, recording);
      return isFunction(onValue) ? inContext(() => onValue(watched)) : watched;
    };
    const fail = (error: unknown): unknown => {
      recording.failed(error);
      if (isFunction(onError)) {
        return inContext(() => onError(error));
      }
      throw error;
    };
    return withRun(recording.run, () => target.then(succeed, fail));
  };
  const replacements: Replacements = new Map([
    ["then", settled],
    ["catch", (onError: unknown) => settled(undefined, onError)],
    [
      "finally",
      (onEnd: unknown) =>
        Promise.resolve(settled(undefined, undefined)).finally(() =>
          isFunction(onEnd) ? onEnd() : undefined,
        ),
    ],
  ]);
  return createPlaceholder(target, replacements);
}

/** Node's own streams are handed on as they are: other streams know them by identity. */
function watchNodeStream(stream: NodeStream, recording: CallRecording): void {
  stream.once("close", () => {
    const { errored, readableEnded } = stream;
    if (errored !== undefined && errored !== null) {
      recording.failed(errored);
    } else if (readableEnded === false) {
      recording.cancelled();
    } else {
      recording.finished();
    }
  });
}

interface NodeStream {
  once(event: "close", listener: () => void): unknown;
  readonly errored?: unknown;
  readonly readableEnded?: unknown;
}

type Fields = Readonly<Record<PropertyKey, unknown>>;

const isFunction = (value: unknown): value is (argument?: unknown) => unknown =>
  typeof value === "function";

const isNodeStream = (value: Fields): value is Fields & NodeStream =>
  typeof value["pipe"] === "function" && typeof value["once"] === "function";

const isIterator = (value: Fields): boolean =>
  typeof value["next"] === "function" &&
  (typeof value[Symbol.iterator] === "function" ||
    typeof value[Symbol.asyncIterator] === "function");

/** A promise with nothing of its own, which another promise can take the place of. */
const isPlainPromise = (value: object): value is Promise<unknown> =>
  value instanceof Promise &&
  Object.getPrototypeOf(value) === Promise.prototype &&
  Object.keys(value).length === 0;

import type { CallRecording } from "./call-recording.ts";
import { withRun } from "./context.ts";
import { isObject, isThenable, overrideMethods } from "../tape/override-methods.ts";
import type { Method, Replacements } from "../tape/override-methods.ts";

/**
 * A synchronous or asynchronous iterator. Its methods are typed loosely, because callers may pass incomplete
 * iterators.
 */
interface AnyIterator {
  next(...sent: readonly unknown[]): unknown;
  return?(...sent: readonly unknown[]): unknown;
  throw?(...sent: readonly unknown[]): unknown;
  [Symbol.dispose]?(): unknown;
  [Symbol.asyncDispose]?(): unknown;
}

/**
 * Observes a generator or another iterator. Returns a Proxy that behaves like `target`, and calls the methods of
 * `target` with the recorded run as the current run. Values and errors are passed on unchanged.
 */
export function watchIterator<Target extends object>(
  target: Target,
  recording: CallRecording,
): Target {
  const iterator = target as Target & AnyIterator;
  const advancingCall = { recording, isEnding: false };
  const endingCall = { recording, isEnding: true };
  const replacements: Replacements = new Map<PropertyKey, Method>([
    ["next", (...sent) => callAndRecord(() => iterator.next(...sent), advancingCall)],
    ["return", (...sent) => callAndRecord(() => iterator.return?.(...sent), endingCall)],
    ["throw", (...sent) => callAndRecord(() => iterator.throw?.(...sent), endingCall)],
    [Symbol.dispose, () => callAndRecord(() => iterator[Symbol.dispose]?.(), endingCall)],
    [Symbol.asyncDispose, () => callAndRecord(() => iterator[Symbol.asyncDispose]?.(), endingCall)],
    [Symbol.iterator, () => watched],
    [Symbol.asyncIterator, () => watched],
  ]);
  const watched: Target = overrideMethods(target, replacements);
  return watched;
}

/** Observes an async iterable: each iterator that it returns is observed. */
export function watchIterable<Target extends object>(
  target: Target,
  recording: CallRecording,
): Target {
  const iterable = target as Target & AsyncIterable<unknown>;
  const iterate = (): unknown => {
    const iterator = withRun(recording.run, () => iterable[Symbol.asyncIterator]());
    return watchIterator(iterator, recording);
  };
  return overrideMethods(target, new Map([[Symbol.asyncIterator, iterate]]));
}

/** A call of one of the iterator's methods. */
interface IteratorCall {
  readonly recording: CallRecording;
  /** Whether the call ends the iteration, as `return` and `throw` do. */
  readonly isEnding: boolean;
}

/** Calls a method of the iterator within the run and records its result. */
function callAndRecord(callMethod: () => unknown, { recording, isEnding }: IteratorCall): unknown {
  const handleResult = (result: unknown): unknown => {
    recordResult(result, { recording, isEnding });
    return result;
  };
  const handleError = (error: unknown): never => {
    recording.recordFailure(error);
    throw error;
  };
  let result: unknown;
  try {
    result = withRun(recording.run, callMethod);
  } catch (error) {
    return handleError(error);
  }
  return isThenable(result) ? result.then(handleResult, handleError) : handleResult(result);
}

function recordResult(result: unknown, { recording, isEnding }: IteratorCall): void {
  try {
    const { done, value } = isObject(result) ? result : { done: isEnding, value: undefined };
    if (!done) {
      recording.recordChunk(value);
    } else if (isEnding) {
      recording.recordCancellation();
    } else {
      recording.recordStreamEnd(value);
    }
  } catch (error) {
    // If the result can't be read here, the consumer can't read it either. So the run is recorded as failed.
    recording.recordFailure(error);
  }
}

import type { CallRecording } from "./call-recording.ts";
import { withRun } from "./context.ts";
import { isObject, isThenable, createPlaceholder } from "../tape/placeholder.ts";
import type { Method, Replacements } from "../tape/placeholder.ts";

/** An iterator of either kind, as loosely as a caller may have made it. */
interface AnyIterator {
  next(...sent: readonly unknown[]): unknown;
  return?(...sent: readonly unknown[]): unknown;
  throw?(...sent: readonly unknown[]): unknown;
  [Symbol.dispose]?(): unknown;
  [Symbol.asyncDispose]?(): unknown;
}

/**
 * Watches a generator or another iterator: the answer stands in for it, is driven as it is, and
 * runs its body within the run. Its values and failures are handed on as they are.
 */
export function watchIterator<Target extends object>(
  target: Target,
  recording: CallRecording,
): Target {
  const iterator = target as Target & AnyIterator;
  const advance = { recording, leaving: false };
  const leave = { recording, leaving: true };
  const replacements: Replacements = new Map<PropertyKey, Method>([
    ["next", (...sent) => step(() => iterator.next(...sent), advance)],
    ["return", (...sent) => step(() => iterator.return?.(...sent), leave)],
    ["throw", (...sent) => step(() => iterator.throw?.(...sent), leave)],
    [Symbol.dispose, () => step(() => iterator[Symbol.dispose]?.(), leave)],
    [Symbol.asyncDispose, () => step(() => iterator[Symbol.asyncDispose]?.(), leave)],
    [Symbol.iterator, () => watched],
    [Symbol.asyncIterator, () => watched],
  ]);
  const watched: Target = createPlaceholder(target, replacements);
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
  return createPlaceholder(target, new Map([[Symbol.asyncIterator, iterate]]));
}

interface Step {
  readonly recording: CallRecording;
  /** Whether the consumer ended the iteration. */
  readonly leaving: boolean;
}

function step(advance: () => unknown, { recording, leaving }: Step): unknown {
  const note = (result: unknown): unknown => {
    noteResult(result, { recording, leaving });
    return result;
  };
  const fail = (error: unknown): never => {
    recording.failed(error);
    throw error;
  };
  let result: unknown;
  try {
    result = withRun(recording.run, advance);
  } catch (error) {
    return fail(error);
  }
  return isThenable(result) ? result.then(note, fail) : note(result);
}

function noteResult(result: unknown, { recording, leaving }: Step): void {
  try {
    const { done, value } = isObject(result) ? result : { done: leaving, value: undefined };
    if (!done) {
      recording.chunk(value);
    } else if (leaving) {
      recording.cancelled();
    } else {
      recording.finished(value);
    }
  } catch (error) {
    // A result that can't be read fails its consumer too, and so it fails the run.
    recording.failed(error);
  }
}

import { isAsyncIterable, isIterator, isReadableStream, isThenable } from "./payloads.ts";

/** An argument of a traced function. */
export interface TracedArgument {
  /** The value that the function gets instead of the argument. */
  readonly passed: unknown;
  /** Returns the value to record. */
  readonly read: () => unknown;
  /**
   * Whether the content is available only after the function has read it. The inputs are then recorded when the call
   * ends.
   */
  readonly isDeferred: boolean;
}

/**
 * Prepares an argument. A promise, stream or iterator is replaced by one that stores every value that is read from it.
 */
export function traceArgument(argument: unknown): TracedArgument {
  try {
    if (isReadableStream(argument)) {
      return traceStream(argument);
    }
    if (isAsyncIterable(argument)) {
      return traceAsyncIterable(argument);
    }
    if (!Array.isArray(argument) && isIterator(argument)) {
      return traceIterator(argument);
    }
    if (isThenable(argument)) {
      return tracePromise(argument);
    }
  } catch {
    // An argument that throws when it is inspected is passed on unchanged. The encoder records a marker for it.
  }
  return { passed: argument, read: () => argument, isDeferred: false };
}

function traceStream(stream: ReadableStream<unknown>): TracedArgument {
  const chunks: unknown[] = [];
  const passed = stream.pipeThrough(
    new TransformStream<unknown, unknown>({
      transform: (chunk, controller) => {
        chunks.push(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
  return { passed, read: () => chunks, isDeferred: true };
}

function traceAsyncIterable(iterable: AsyncIterable<unknown>): TracedArgument {
  const chunks: unknown[] = [];
  const record = async (
    next: Promise<IteratorResult<unknown>>,
  ): Promise<IteratorResult<unknown>> => {
    const result = await next;
    if (result.done !== true) {
      chunks.push(result.value);
    }
    return result;
  };
  const traceSteps = (iterator: AsyncIterator<unknown>): AsyncIterator<unknown> =>
    replaceMembers(iterator, {
      next: (...args: [] | [unknown]) => record(iterator.next(...args)),
    });
  const passed = replaceMembers(iterable, {
    [Symbol.asyncIterator]: () => traceSteps(iterable[Symbol.asyncIterator]()),
    ...(isIterator(iterable)
      ? { next: (...args: [] | [unknown]) => record(Promise.resolve(iterable.next(...args))) }
      : {}),
  });
  return { passed, read: () => chunks, isDeferred: true };
}

function traceIterator(iterator: Iterator<unknown>): TracedArgument {
  const chunks: unknown[] = [];
  const next = (...args: [] | [unknown]): IteratorResult<unknown> => {
    const result = iterator.next(...args);
    if (result.done !== true) {
      chunks.push(result.value);
    }
    return result;
  };
  const passed: Iterator<unknown> = replaceMembers(iterator, {
    next,
    [Symbol.iterator]: () => passed,
  });
  return { passed, read: () => chunks, isDeferred: true };
}

function tracePromise(promise: PromiseLike<unknown>): TracedArgument {
  let settled: unknown;
  // The promise is observed only when the function awaits it. Otherwise Node would no longer report an unhandled
  // rejection.
  const passed = replaceMembers(promise, {
    // oxlint-disable-next-line unicorn/no-thenable -- it takes the place of a promise
    then: (
      onFulfilled?: ((value: unknown) => unknown) | null,
      onRejected?: ((reason: unknown) => unknown) | null,
    ) =>
      promise.then(
        (value) => {
          settled = value;
          return onFulfilled ? onFulfilled(value) : value;
        },
        (error: unknown) => {
          settled = { error: String(error) };
          if (onRejected) {
            return onRejected(error);
          }
          throw error;
        },
      ),
  });
  return { passed, read: () => settled, isDeferred: true };
}

/** Returns a proxy of `target` with some members replaced. The other methods are called with `target` as `this`. */
export function replaceMembers<Target extends object>(
  target: Target,
  members: Readonly<Record<PropertyKey, unknown>>,
): Target {
  return new Proxy(target, {
    get: (_, key): unknown => {
      if (Object.hasOwn(members, key)) {
        return members[key as string];
      }
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" && key !== "constructor"
        ? (value.bind(target) as unknown)
        : value;
    },
  });
}

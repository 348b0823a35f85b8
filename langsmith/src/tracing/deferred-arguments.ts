import { isAsyncIterable, isIterator, isReadableStream, isThenable } from "./payloads.ts";

/** An argument of a traced function. */
export interface TracedArgument {
  /** What the function gets in place of the argument. */
  readonly passed: unknown;
  /** Returns what to record of it. */
  readonly read: () => unknown;
  /** Whether its content is known only when the function has read it, so that the inputs are recorded at the end. */
  readonly isDeferred: boolean;
}

/** Prepares an argument. Promises, streams and iterators are replaced by ones that remember what was read from them. */
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
    // A hostile argument is passed on as it is; the encoder records a marker for what it can't read.
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
  const remember = async (
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
      next: (...args: [] | [unknown]) => remember(iterator.next(...args)),
    });
  const passed = replaceMembers(iterable, {
    [Symbol.asyncIterator]: () => traceSteps(iterable[Symbol.asyncIterator]()),
    ...(isIterator(iterable)
      ? { next: (...args: [] | [unknown]) => remember(Promise.resolve(iterable.next(...args))) }
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
  // Observed only where the function itself awaits it: a promise that nobody handles must stay unhandled.
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

/** Returns an object that behaves as `target`, but for some members. Its methods keep `target` as their `this`. */
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

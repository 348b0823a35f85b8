/** What happens to the tasks of a pool. */
export interface PoolOptions<Task> {
  /** Number of tasks in progress. */
  readonly concurrency: number;
  /** No further task is started once it is aborted. */
  readonly signal: AbortSignal;
  readonly run: (task: Task) => Promise<void>;
}

/**
 * Runs tasks as they are read, so many at a time. If one fails, or if reading fails, no further one is started, and the
 * others are finished.
 *
 * @throws the first failure.
 */
export async function runPool<Task>(
  tasks: AsyncGenerator<Task, void>,
  { concurrency, signal, run }: PoolOptions<Task>,
): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  /** Becomes true when there is nothing more to read. */
  let isAtEnd = false;
  const work = async (): Promise<void> => {
    while (!isAtEnd && failure === undefined && !signal.aborted) {
      try {
        const next = await tasks.next();
        if (next.done === true) {
          isAtEnd = true;
          return;
        }
        await run(next.value);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  // Releases what the tasks are read from, if they were not read to the end.
  await tasks.return().catch((error: unknown) => {
    failure ??= { error };
  });
  if (failure !== undefined) {
    throw failure.error;
  }
}

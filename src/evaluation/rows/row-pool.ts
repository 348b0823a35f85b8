/** Options of {@link runPool}. */
export interface PoolOptions<Task> {
  /** Maximum number of tasks in progress. */
  readonly concurrency: number;
  /** After this signal is aborted, no further task is started. */
  readonly signal: AbortSignal;
  readonly run: (task: Task) => Promise<void>;
}

/**
 * Reads tasks and runs them, at most `concurrency` at a time. If a task or the reading fails, no further task is
 * started, and the tasks in progress are finished.
 *
 * @throws the first failure.
 */
export async function runPool<Task>(
  tasks: AsyncGenerator<Task, void>,
  { concurrency, signal, run }: PoolOptions<Task>,
): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  /** Whether all tasks have been read. */
  let isAtEnd = false;
  const runTasks = async (): Promise<void> => {
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
  await Promise.all(Array.from({ length: concurrency }, runTasks));
  // Close the source of the tasks, in case it was not read to the end.
  await tasks.return().catch((error: unknown) => {
    failure ??= { error };
  });
  if (failure !== undefined) {
    throw failure.error;
  }
}

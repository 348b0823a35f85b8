/**
 * The clock and the timer as they are when this module is imported: tests may replace those of the process by fake ones.
 */
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis;
const readRealTime = Date.now.bind(Date);

/** Milliseconds since the Unix epoch, also if a test has faked the time. */
export const now = (): number => readRealTime();

/** Waits for a promise, but not longer than `timeoutMs`. Returns whether it settled in time. */
export async function settleWithin(promise: Promise<void>, timeoutMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setRealTimeout(() => {
      resolve(false);
    }, timeoutMs);
  });
  try {
    return await Promise.race([promise.then(() => true), timeout]);
  } finally {
    clearRealTimeout(timer);
  }
}

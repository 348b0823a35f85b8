/** The timers and the clock of Node, stored when this module is imported, because tests may replace them by fake ones. */
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis;
const readRealTime = Date.now.bind(Date);

/** Milliseconds since the Unix epoch, even if a test has faked the time. */
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

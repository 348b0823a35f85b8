/** Node's timers and clock at the time of the import. Tests may later replace the global ones with fake timers. */
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis;
const readRealTime = Date.now.bind(Date);

/** Returns the real time in milliseconds since the Unix epoch, even if a test has installed fake timers. */
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

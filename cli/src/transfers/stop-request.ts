/** How often to check whether the shell that npx started still runs, in milliseconds. */
const parentCheckIntervalMs = 250;

/**
 * Resolves when the command should stop: on SIGINT, on SIGTERM, or, if npx started it, when the shell between
 * npx and the command ends. npx passes a signal on to that shell, which ends without stopping the command.
 * Listens from the call on, so that an early signal is not lost.
 */
export function waitForStopRequest(env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => resolve());
    }
    if (env["npm_lifecycle_event"] === "npx") {
      const shellPid = process.ppid;
      const timer = setInterval(() => {
        if (process.ppid !== shellPid) {
          clearInterval(timer);
          resolve();
        }
      }, parentCheckIntervalMs);
      // Unref'd: this timer must not keep the process alive.
      timer.unref();
    }
  });
}

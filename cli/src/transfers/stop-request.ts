/** Interval of the checks whether the shell that npx started is still running, in milliseconds. */
const parentCheckIntervalMs = 250;

/**
 * Resolves when the command should stop: on SIGINT, on SIGTERM, or, if npx started the command, when the shell between
 * npx and the command ends. npx passes a signal on to that shell, which ends without stopping the command. The signal
 * handlers are added during the call, so that an early signal is not lost.
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
      // The timer is unref'd, because it must not keep the process alive.
      timer.unref();
    }
  });
}

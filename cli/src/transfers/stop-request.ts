/** How often it is looked whether the shell of npx is still there. */
const parentCheckMs = 250;

/**
 * Resolves when the command is asked to end: by SIGINT, by SIGTERM, or, where npx started it, by the end
 * of the shell between the two. npx passes a signal on to that shell, which ends and leaves the command
 * alone. Listens from the call on, so that a signal that comes early is not lost.
 */
export function nextStopRequest(env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => resolve());
    }
    if (env["npm_lifecycle_event"] === "npx") {
      const shell = process.ppid;
      const timer = setInterval(() => {
        if (process.ppid !== shell) {
          clearInterval(timer);
          resolve();
        }
      }, parentCheckMs);
      // The server keeps the process alive, not the look at its parent.
      timer.unref();
    }
  });
}

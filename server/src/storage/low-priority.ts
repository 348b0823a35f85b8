import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";

/**
 * Lowers the priority of this thread only: Linux gives each thread a priority of its own. On other systems, only the
 * pauses between steps limit the load.
 */
export function lowerPriority(): void {
  try {
    const [, thread] = /task\/(\d+)$/.exec(readlinkSync("/proc/thread-self")) ?? [];
    if (thread !== undefined) {
      setPriority(Number(thread), 19);
    }
  } catch {
    // The system is not Linux, or does not allow the change of priority. Then only the pauses limit the load.
  }
}

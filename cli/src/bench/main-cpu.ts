import { readFileSync } from "node:fs";

interface CpuTimes {
  readonly user: number;
  readonly system: number;
}

/**
 * Returns the CPU time of the main thread in microseconds, from Node (23.9 and later) or from Linux;
 * `undefined` where neither provides it. Must be called on the main thread.
 *
 * The Linux kernel updates the CPU time of a running thread only every few milliseconds, but also whenever the
 * process reads its own CPU time. The function therefore reads the CPU time of the process first.
 */
export function readMainCpuMicros(): number | undefined {
  process.cpuUsage();
  const threadCpuUsage: unknown = Reflect.get(process, "threadCpuUsage");
  if (typeof threadCpuUsage === "function") {
    const { user, system } = Reflect.apply(threadCpuUsage, process, []) as CpuTimes;
    return user + system;
  }
  try {
    // On Linux, the id of the main thread is the id of the process.
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(
      " ",
    );
    return Number(nanoseconds) / 1_000;
  } catch {
    // Neither source exists: this is an older version of Node on a system other than Linux.
    return undefined;
  }
}

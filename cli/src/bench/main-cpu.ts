import { readFileSync } from "node:fs";

interface CpuTimes {
  readonly user: number;
  readonly system: number;
}

/**
 * Returns the CPU time of the main thread in microseconds, from Node (23.9 and later) or from Linux;
 * `undefined` where neither provides it. Must be called on the main thread.
 *
 * The kernel updates the CPU time of a running thread only every few milliseconds, but always when the process
 * reads its own CPU time: hence the first line.
 */
export function mainCpuMicros(): number | undefined {
  process.cpuUsage();
  const threadCpuUsage: unknown = Reflect.get(process, "threadCpuUsage");
  if (typeof threadCpuUsage === "function") {
    const { user, system } = Reflect.apply(threadCpuUsage, process, []) as CpuTimes;
    return user + system;
  }
  try {
    // On Linux, the id of the main thread is the id of the process.
    const [nanos] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
    return Number(nanos) / 1_000;
  } catch {
    // An older version of Node on a system other than Linux.
    return undefined;
  }
}

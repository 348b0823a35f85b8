import { readFileSync } from "node:fs";

interface CpuTimes {
  readonly user: number;
  readonly system: number;
}

/**
 * Microseconds that the thread of the process's entry has spent on a CPU, by Node (23.9 and later) or by
 * Linux; `undefined` where neither tells. To be asked on that thread.
 *
 * The kernel brings the count of a running thread up to date only now and then, some milliseconds
 * apart, but always where a process asks for its own time: hence the first line.
 */
export function mainCpuMicros(): number | undefined {
  process.cpuUsage();
  const own: unknown = Reflect.get(process, "threadCpuUsage");
  if (typeof own === "function") {
    const { user, system } = Reflect.apply(own, process, []) as CpuTimes;
    return user + system;
  }
  try {
    // A process's first thread has the number of the process.
    const [nanos] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
    return Number(nanos) / 1_000;
  } catch {
    // An older Node, on another system.
    return undefined;
  }
}

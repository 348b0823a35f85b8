/** Figures of a measured process, and of the runs that its sink received. */
import { readFileSync } from "node:fs";
import { readMainCpuMicros } from "../cli/src/bench/main-cpu.ts";
import type { SinkReport } from "./sink.ts";

/** CPU time of the main thread, nanoseconds. */
export const readMainNanos = (): number => (readMainCpuMicros() ?? Number.NaN) * 1_000;

/** Peak resident memory of a process, megabytes. @param pid the current process by default */
export function readPeakRssMb(pid?: number): number {
  const status = readFileSync(`/proc/${pid ?? "self"}/status`, "latin1");
  return Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1_024;
}

/** Requests the sink's counts. `missing` is the number of `ids` whose runs it did not receive whole. */
export async function querySink(endpoint: string, ids: readonly string[]): Promise<SinkReport> {
  const body = ids.filter((id) => id !== "").join("\n");
  const response = await fetch(`${endpoint}/check`, { method: "POST", body });
  return (await response.json()) as SinkReport;
}

export const countMissing = async (endpoint: string, ids: readonly string[]): Promise<number> =>
  (await querySink(endpoint, ids)).missing;

/** CPU time of all threads of a process, microseconds. The kernel counts in hundredths of a second. */
export function readCpuMicros(pid = 0): number {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

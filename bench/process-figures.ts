/** What a process under measurement knows of itself, and what the sink knows of its runs. */
import { readFileSync } from "node:fs";
import { mainCpuMicros } from "../cli/src/bench/main-cpu.ts";
import type { SinkReport } from "./sink.ts";

/** Nanoseconds that the main thread spent on a CPU. */
export const mainNanos = (): number => (mainCpuMicros() ?? Number.NaN) * 1_000;

/** Peak resident memory of a whole process; left out: this one. */
export function peakRssMb(pid?: number): number {
  const status = readFileSync(`/proc/${pid ?? "self"}/status`, "latin1");
  return Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1_024;
}

/** What the sink counted; `missing` are those of `ids` that it has not got whole. */
export async function askSink(endpoint: string, ids: readonly string[]): Promise<SinkReport> {
  const body = ids.filter((id) => id !== "").join("\n");
  const response = await fetch(`${endpoint}/check`, { method: "POST", body });
  return (await response.json()) as SinkReport;
}

export const missingAt = async (endpoint: string, ids: readonly string[]): Promise<number> =>
  (await askSink(endpoint, ids)).missing;

/** CPU of a process and all of its threads, microseconds; the kernel counts in hundredths of a second. */
export function cpuMicrosOf(pid = 0): number {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

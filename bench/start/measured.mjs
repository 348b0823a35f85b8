/**
 * Figures that a short program prints about itself, in one line on standard output when it exits. The programs import
 * nothing else of the bench, so that only the client's own start is measured.
 */
import { readFileSync } from "node:fs";

export const endpoint = process.argv[2] ?? "";
export const inputs = { messages: [{ role: "user", content: "What is the capital of France?" }] };
export const outputs = { text: "Paris" };

const figures = {};

/** Imports a client, and measures the wall-clock time and the CPU time of that. */
export async function measureImport(load) {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  const client = await load();
  const { user, system } = process.cpuUsage(before);
  figures.importMs = performance.now() - startedAt;
  figures.importCpuMs = (user + system) / 1_000;
  return client;
}

/** Call this when the run is delivered. What the process does from then on is its end. */
export function markDelivered() {
  figures.deliveredAt = performance.timeOrigin + performance.now();
}

process.once("exit", () => {
  const peakKb = /VmHWM:\s*(\d+)/.exec(readFileSync("/proc/self/status", "latin1"))?.[1];
  console.log(JSON.stringify({ ...figures, peakRssMb: Number(peakKb) / 1_024 }));
});

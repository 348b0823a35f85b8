/** All workloads of the suite by name: four sizes of payloads and two special shapes. */
import { createAgentStates, createConversation } from "./states.ts";
import { createPayloads, sizeNames, sizes } from "./workload.ts";
import type { Payload, SizeName } from "./workload.ts";

export const workloadNames = [...sizeNames, "agent", "conversation"] as const;
export type WorkloadName = (typeof workloadNames)[number];

interface Workload {
  /** Average size of a run as JSON in a request, bytes. */
  readonly runBytes: number;
  /** Number of runs that a measurement records between two checks of the time; they should take about a second. */
  readonly runs: number;
  readonly createPayloads: () => readonly Payload[];
}

const createSizeWorkload = (size: SizeName, runs: number): Workload => ({
  runBytes: sizes[size].runBytes,
  runs,
  createPayloads: () => createPayloads(size),
});

export const workloads: Readonly<Record<WorkloadName, Workload>> = {
  S: createSizeWorkload("S", 120_000),
  M: createSizeWorkload("M", 24_000),
  L: createSizeWorkload("L", 4_000),
  XL: createSizeWorkload("XL", 500),
  agent: { runBytes: 13_000, runs: 8_000, createPayloads: () => createAgentStates() },
  conversation: { runBytes: 33_000, runs: 6_000, createPayloads: () => createConversation() },
};

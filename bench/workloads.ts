/** Every workload of the suite by its name: the four sizes, and the two shapes. */
import { createAgentStates, createConversation } from "./states.ts";
import { createPayloads, sizeNames, sizes } from "./workload.ts";
import type { Payload, SizeName } from "./workload.ts";

export const workloadNames = [...sizeNames, "agent", "conversation"] as const;
export type WorkloadName = (typeof workloadNames)[number];

interface Workload {
  /** JSON of one run on the wire, on average. */
  readonly runBytes: number;
  /** Runs that a measurement records before it looks at the time, which is to be about a second. */
  readonly runs: number;
  readonly createPayloads: () => readonly Payload[];
}

const ofSize = (size: SizeName, runs: number): Workload => ({
  runBytes: sizes[size].runBytes,
  runs,
  createPayloads: () => createPayloads(size),
});

export const workloads: Readonly<Record<WorkloadName, Workload>> = {
  S: ofSize("S", 120_000),
  M: ofSize("M", 24_000),
  L: ofSize("L", 4_000),
  XL: ofSize("XL", 500),
  agent: { runBytes: 13_000, runs: 8_000, createPayloads: () => createAgentStates() },
  conversation: { runBytes: 33_000, runs: 6_000, createPayloads: () => createConversation() },
};

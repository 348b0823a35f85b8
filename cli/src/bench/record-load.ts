import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Client, RunTree } from "millrace";
import type { Meter } from "./meter.ts";
import { createPayloads, runsPerTree } from "./workload.ts";
import type { Payload, SizeName } from "./workload.ts";

/** The runs that the benchmark records: their size, number and rate. */
export interface LoadPlan {
  readonly size: SizeName;
  readonly runCount: number;
  readonly durationMs: number;
  /** Runs per second; `undefined` means as fast as the server accepts them. */
  readonly rate: number | undefined;
  readonly workerCount: number | undefined;
}

/** A load to record, with the signal that stops recording and the meter that measures it. */
export interface Load extends LoadPlan {
  readonly signal: AbortSignal;
  readonly meter: Meter;
}

const pacingIntervalMs = 10;
/** After recording, the command waits this long for the next acknowledgement of a run before it stops. */
const idleTimeoutMs = 30_000;
/** The same time limit after the user has interrupted the command. */
const interruptedIdleTimeoutMs = 2_000;
const capacityTimeoutMs = 1_000;
const flushTimeoutMs = 500;

/** Records the runs and waits until the server has acknowledged them. Ends early if `signal` is aborted. */
export async function recordLoad(client: Client, load: Load): Promise<void> {
  const { size, runCount, durationMs, rate, signal, meter } = load;
  const nextPayload = cycle(createPayloads(size));
  meter.start();
  const startedAt = performance.now();
  let recordedCount = 0;
  const hasEnded = (): boolean =>
    recordedCount >= runCount || signal.aborted || performance.now() - startedAt >= durationMs;
  while (!hasEnded()) {
    const dueCount =
      rate === undefined
        ? runCount
        : Math.min(runCount, ((performance.now() - startedAt) / 1_000) * rate);
    while (recordedCount < dueCount && !hasEnded()) {
      if (rate === undefined && !(await client.waitForCapacity({ timeoutMs: capacityTimeoutMs }))) {
        continue;
      }
      const count = Math.min(runsPerTree, runCount - recordedCount);
      recordTree(client, count, nextPayload);
      recordedCount += count;
      meter.recordedRunCount = recordedCount;
      // Yields to the event loop, as a program does between two traces.
      await nextTurn();
    }
    if (rate !== undefined) {
      await sleep(pacingIntervalMs);
    }
  }
  await waitForAcknowledgement(client, signal);
}

/** Records a trace of `count` runs: a root and its children. */
function recordTree(client: Client, count: number, nextPayload: () => Payload): void {
  const rootPayload = nextPayload();
  const root = startRun(client, rootPayload);
  for (let child = 1; child < count; child++) {
    const payload = nextPayload();
    startRun(client, payload, root).end(payload.outputs);
  }
  root.end(rootPayload.outputs);
}

function startRun(client: Client, payload: Payload, parent?: RunTree): RunTree {
  const { name, runType, inputs, metadata } = payload;
  return client.startRun({ parent, name, runType, inputs, metadata });
}

/** Waits until no run is pending, or until the server has acknowledged nothing for a while. */
async function waitForAcknowledgement(client: Client, signal: AbortSignal): Promise<void> {
  let lastPending = Number.NaN;
  let lastChangeAt = performance.now();
  for (;;) {
    const { pending } = await client.flush({ timeoutMs: flushTimeoutMs });
    if (pending === 0) {
      return;
    }
    if (pending !== lastPending) {
      lastPending = pending;
      lastChangeAt = performance.now();
    }
    if (
      performance.now() - lastChangeAt >=
      (signal.aborted ? interruptedIdleTimeoutMs : idleTimeoutMs)
    ) {
      return;
    }
  }
}

function cycle(payloads: readonly Payload[]): () => Payload {
  let index = 0;
  return () => {
    const payload = payloads[index++ % payloads.length];
    if (payload === undefined) {
      throw new RangeError("The workload has no payloads");
    }
    return payload;
  };
}

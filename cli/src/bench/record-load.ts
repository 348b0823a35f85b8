import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Client, RunTree } from "millrace";
import type { Meter } from "./meter.ts";
import { createPayloads, runsPerTree } from "./workload.ts";
import type { Payload, SizeName } from "./workload.ts";

/** What is to be recorded. */
export interface LoadPlan {
  readonly size: SizeName;
  readonly runs: number;
  readonly durationMs: number;
  /** Runs a second; `undefined`: as the server takes them. */
  readonly rate: number | undefined;
  readonly workers: number | undefined;
}

export interface Load extends LoadPlan {
  readonly signal: AbortSignal;
  readonly meter: Meter;
}

const tickMs = 10;
/** How long a server that answers nothing is waited for, with all recorded. */
const patienceMs = 30_000;
/** The same where the user wants it ended. */
const hurryMs = 2_000;
const roomMs = 1_000;
const lookMs = 500;

/** Records the runs and waits for the server's answers; ends early where `signal` says so. */
export async function recordLoad(client: Client, load: Load): Promise<void> {
  const { size, runs, durationMs, rate, signal, meter } = load;
  const next = cycle(createPayloads(size));
  meter.start();
  const began = performance.now();
  let recorded = 0;
  const isOver = (): boolean =>
    recorded >= runs || signal.aborted || performance.now() - began >= durationMs;
  while (!isOver()) {
    const due =
      rate === undefined ? runs : Math.min(runs, ((performance.now() - began) / 1_000) * rate);
    while (recorded < due && !isOver()) {
      if (rate === undefined && !(await client.waitForCapacity({ timeoutMs: roomMs }))) {
        continue;
      }
      const count = Math.min(runsPerTree, runs - recorded);
      recordTree(client, count, next);
      recorded += count;
      meter.recorded = recorded;
      // A program does other things between two traces.
      await nextTurn();
    }
    if (rate !== undefined) {
      await sleep(tickMs);
    }
  }
  await settle(client, signal);
}

/** A root and so many runs below it that they are `count` together. */
function recordTree(client: Client, count: number, next: () => Payload): void {
  const rootPayload = next();
  const root = start(client, rootPayload);
  for (let child = 1; child < count; child++) {
    const payload = next();
    start(client, payload, root).end(payload.outputs);
  }
  root.end(rootPayload.outputs);
}

function start(client: Client, payload: Payload, parent?: RunTree): RunTree {
  const { name, runType, inputs, metadata } = payload;
  return client.startRun({ parent, name, runType, inputs, metadata });
}

/** Waits until nothing is pending, or for a while in which nothing is answered. */
async function settle(client: Client, signal: AbortSignal): Promise<void> {
  let last = Number.NaN;
  let since = performance.now();
  for (;;) {
    const { pending } = await client.flush({ timeoutMs: lookMs });
    if (pending === 0) {
      return;
    }
    if (pending !== last) {
      last = pending;
      since = performance.now();
    }
    if (performance.now() - since >= (signal.aborted ? hurryMs : patienceMs)) {
      return;
    }
  }
}

function cycle(payloads: readonly Payload[]): () => Payload {
  let index = 0;
  return () => {
    const payload = payloads[index++ % payloads.length];
    if (payload === undefined) {
      throw new RangeError("A workload without payloads");
    }
    return payload;
  };
}

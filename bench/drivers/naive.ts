import { randomUUID } from "node:crypto";
import type { Payload } from "../workload.ts";
import type { Driver, DriverInit } from "./driver.ts";

interface NaiveRun {
  readonly id: string;
  readonly trace_id: string;
  readonly dotted_order: string;
  readonly parent_run_id: string | undefined;
  readonly name: string;
  readonly run_type: string;
  readonly session_name: string;
  readonly start_time: string;
  readonly inputs: Payload["inputs"];
  readonly extra: { readonly metadata: Payload["metadata"]; readonly runtime: typeof runtime };
  end_time?: string;
  outputs?: Payload["outputs"];
}

const runtime = {
  sdk: "naive",
  sdk_version: "0.1.0",
  runtime: "node",
  runtime_version: process.version,
  platform: process.platform,
};

/**
 * A client without any effort: it collects ended runs in a list and sends each hundred with `JSON.stringify` and
 * `fetch` on the main thread. It sends the same fields, and each run once as a whole. It takes no snapshots, has no
 * queue limit and no retries, and sends nothing about a run before its end.
 */
export function createNaive({ endpoint, requestRuns }: DriverInit): Driver<NaiveRun> {
  const inFlight = new Set<Promise<void>>();
  let ended: NaiveRun[] = [];
  let pending = 0;
  let lost = 0;

  const send = async (runs: readonly NaiveRun[]): Promise<void> => {
    try {
      const response = await fetch(`${endpoint}/runs/batch`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": "bench" },
        body: JSON.stringify({ post: runs, patch: [] }),
      });
      await response.text();
      lost += response.ok ? 0 : runs.length;
    } catch {
      // The loss is counted, and any loss fails the bench.
      lost += runs.length;
    }
    pending -= runs.length;
  };

  const sendEnded = (): void => {
    const sending = send(ended);
    ended = [];
    inFlight.add(sending);
    void sending.then(() => inFlight.delete(sending));
  };

  return {
    start: (parent, { name, runType, inputs, metadata }) => {
      const id = randomUUID();
      const start = new Date().toISOString();
      const segment = `${start.replaceAll(/[-:.]/g, "").slice(0, -1)}000Z${id}`;
      pending += 1;
      return {
        id,
        trace_id: parent?.trace_id ?? id,
        dotted_order: parent === undefined ? segment : `${parent.dotted_order}.${segment}`,
        parent_run_id: parent?.id,
        name,
        run_type: runType,
        session_name: "bench",
        start_time: start,
        inputs,
        extra: { metadata, runtime },
      };
    },
    end: (run, { outputs }) => {
      run.end_time = new Date().toISOString();
      run.outputs = outputs;
      ended.push(run);
      if (ended.length >= requestRuns) {
        sendEnded();
      }
    },
    id: (run) => run.id,
    stats: () => ({ pending, lost }),
    flush: async () => {
      if (ended.length > 0) {
        sendEnded();
      }
      await Promise.all(inFlight);
    },
    close: () => Promise.resolve(),
  };
}

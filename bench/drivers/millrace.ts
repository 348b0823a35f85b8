import { Client } from "millrace";
import type { ClientOptions, RunTree } from "millrace";
import type { Driver, DriverInit } from "./driver.ts";

/** A run consists of two records: its start and its end. */
const recordsPerRun = 2;

const largeQueueBytes = 4_294_967_296;
const largeQueueRecords = 4_000_000;

/** This SDK with its defaults, overridden by `options`. */
export function createMillrace(
  { endpoint, hasLargeQueue = false }: DriverInit,
  options: ClientOptions = {},
): Driver<RunTree> {
  const queueOptions = hasLargeQueue
    ? { maxQueueBytes: largeQueueBytes, maxQueueRecords: largeQueueRecords }
    : {};
  const client = new Client({
    endpoint,
    apiKey: "bench",
    projectName: "bench",
    ...queueOptions,
    ...options,
  });
  return {
    start: (parent, { name, runType, inputs, metadata }) =>
      client.startRun({ parent, name, runType, inputs, metadata }),
    end: (run, { outputs }) => run.end(outputs),
    id: (run) => run.id,
    stats: () => {
      const { pending, dropped, rejected, spooled } = client.stats();
      return {
        pending: pending / recordsPerRun,
        lost: (dropped + rejected + spooled) / recordsPerRun,
      };
    },
    flush: async () => {
      await client.flush();
    },
    close: async () => {
      await client.close();
    },
  };
}

import { Client } from "millrace";
import type { ClientOptions, RunTree } from "millrace";
import type { Driver, DriverInit } from "./driver.ts";

/** A run is two records: its start and its end. */
const recordsPerRun = 2;

const roomyBytes = 4_294_967_296;
const roomyRecords = 4_000_000;

/** This SDK with its defaults, but for `options`. */
export function createMillrace(
  { endpoint, roomy = false }: DriverInit,
  options: ClientOptions = {},
): Driver<RunTree> {
  const room = roomy ? { maxQueueBytes: roomyBytes, maxQueueRecords: roomyRecords } : {};
  const client = new Client({
    endpoint,
    apiKey: "bench",
    projectName: "bench",
    ...room,
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

import { parentPort, threadId, workerData } from "node:worker_threads";
import type { StatsReport } from "../../model/records/stats-report.ts";
import type { ServerInfo } from "../../model/resources/server-info.ts";
import type {
  FailureNotice,
  ShippingOptions,
  ShipReport,
  ShipTask,
} from "../../model/records/shipping.ts";
import { createDispatcher } from "../../transport/dispatcher.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { HeartbeatOptions } from "./heartbeat.ts";
import { Shipper } from "./shipper.ts";

/**
 * The data that a thread receives as `workerData` when it starts.
 */
export interface ShipData {
  readonly options: ShippingOptions;
  readonly heartbeat: HeartbeatOptions;
  /** The content of the server's `/info`, if the main thread has read it. */
  readonly serverInfo?: ServerInfo | undefined;
  /** Tapes to send at once, by a thread that was started without the pool because the process exits. */
  readonly tasks?: readonly ShipTask[];
}

const { options, heartbeat: heartbeatOptions, serverInfo, tasks = [] } = workerData as ShipData;
const shipper = new Shipper(options, {
  createTransport: createDispatcher,
  onFailure: (failedTapeId) => parentPort?.postMessage({ failedTapeId } satisfies FailureNotice),
  serverInfo,
});
const heartbeat = new Heartbeat(heartbeatOptions, threadId);

/** Sends one tape, which is a buffer of recorded runs. This is the main task of a worker. */
export default function ship(task: ShipTask): Promise<ShipReport> {
  return heartbeat.runWithHeartbeat(() => shipper.ship(task));
}

/**
 * Reports to the server how many records the client accepted, delivered, rejected, dropped and so on. The pool requests
 * this task by its name, `report`.
 */
export const report = (counts: StatsReport): Promise<void> => shipper.report(counts);

for (const task of tasks) {
  // The reports are not used: the outcomes are read from the tapes themselves. A tape that can't be read must not end
  // the thread.
  ship(task).catch(() => undefined);
}

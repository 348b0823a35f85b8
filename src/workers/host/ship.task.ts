import { parentPort, threadId, workerData } from "node:worker_threads";
import type { StatsReport } from "../../model/records/stats-report.ts";
import type {
  FailureNotice,
  ShippingOptions,
  ShipReport,
  ShipTask,
} from "../../model/records/shipping.ts";
import { startHeartbeat } from "./heartbeat.ts";
import type { HeartbeatOptions } from "./heartbeat.ts";
import { Shipper } from "./shipper.ts";

/**
 * The data that the pool passes to each of its threads as `workerData`.
 */
export interface ShipData {
  readonly options: ShippingOptions;
  readonly heartbeat: HeartbeatOptions;
}

const { options, heartbeat } = workerData as ShipData;
const shipper = new Shipper(options, (failedTape) => {
  parentPort?.postMessage({ failedTapeId: failedTape } satisfies FailureNotice);
});
startHeartbeat(heartbeat, threadId);

/** Sends one tape, which is a buffer of recorded runs. This is the main task of a worker. */
export default function ship(task: ShipTask): Promise<ShipReport> {
  return shipper.ship(task);
}

/**
 * Reports to the server how many records the client accepted, delivered, rejected, dropped and so on. The pool requests
 * this task by its name, `report`.
 */
export const report = (counts: StatsReport): Promise<void> => shipper.report(counts);

import { workerData } from "node:worker_threads";
import type { ShippingOptions, ShipReport, ShipTask } from "../model/shipping.ts";
import { Shipper } from "./shipper.ts";

// The pool starts this file in each of its threads; what it needs to know comes as worker data,
// which Piscina wraps together with data of its own.
const shipper = new Shipper((workerData as { options: ShippingOptions }).options);

/** The worker's task: one tape. */
export default function ship(task: ShipTask): Promise<ShipReport> {
  return shipper.ship(task);
}

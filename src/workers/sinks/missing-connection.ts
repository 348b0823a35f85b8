import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import type { SharedTraffic } from "../../model/records/shared-traffic.ts";

/** Half of the time that the first request has to make a connection. */
const halfMs = 450;

/**
 * Records that no connection was made within about a second. The time is split in two and followed by a turn of the
 * event loop: in a thread that is busy writing bodies, the timer could otherwise fire before the connection event,
 * although the operating system connected long before.
 */
export async function recordMissingConnection(traffic: SharedTraffic): Promise<void> {
  for (let half = 0; half < 2; half++) {
    await delay(halfMs, undefined, { ref: false });
    await nextTurn();
  }
  if (traffic.connections === 0) {
    traffic.recordUnconnected();
  }
}

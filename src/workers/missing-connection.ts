import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import type { SharedTraffic } from "../model/shared-traffic.ts";

/** Half of what an end waits for a server that was never reached. */
const halfMs = 450;

/**
 * Notes that no connection was made within about a second. The time is split, and the last word is left to a turn
 * of the event loop: a thread that is busy with writing bodies would else find its timer due before the connection,
 * which the operating system made long ago.
 */
export async function noteMissingConnection(traffic: SharedTraffic): Promise<void> {
  for (let half = 0; half < 2; half++) {
    await delay(halfMs, undefined, { ref: false });
    await nextTurn();
  }
  if (traffic.connections === 0) {
    traffic.noteUnconnected();
  }
}

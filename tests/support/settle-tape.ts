import { headOffset, outcomeCode } from "../../src/model/records/tape-format.ts";
import type { ShipTask } from "../../src/model/records/shipping.ts";

/** Writes outcomes into the headers of a tape's records, as a worker does. */
export function settleTape(
  { memory }: Pick<ShipTask, "memory">,
  outcomes: readonly (keyof typeof outcomeCode)[],
): void {
  const bytes = Buffer.from(memory);
  let at = 0;
  for (const outcome of outcomes) {
    bytes[at + headOffset.outcome] = outcomeCode[outcome];
    at += bytes.readUInt32LE(at);
  }
}

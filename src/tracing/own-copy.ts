import { microsToStamp, stampToIso } from "../model/dotted-order.ts";
import type { RunEvent } from "../model/run.ts";
import { clock } from "./clock.ts";
import type { Recorder } from "./recorder.ts";
import { snapshotOfEntries } from "./snapshot.ts";

/** A copy of what a run is given while it is open; what can't be read is told and left out. */
export function ownCopy<Entries extends object>(
  value: Entries,
  recording: Recorder,
): Entries | undefined {
  const copy = snapshotOfEntries(value);
  if (copy === undefined) {
    recording.warn("hiddenFailure", "What can't be read was left out of a run.");
  }
  return copy;
}

/** The same of an event, with the time of the call where it has none. */
export function ownEvent(event: RunEvent, recording: Recorder): RunEvent | undefined {
  const copy = ownCopy(event, recording);
  return copy && { ...copy, time: copy.time ?? stampToIso(microsToStamp(clock())) };
}

import { unknownKeysOf, unknownKeyText } from "../../model/unknown-keys.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import type { Recorder } from "../tape/recorder.ts";

/**
 * The first objects of a process are all looked at, later ones now and then: what a program misspells it misspells
 * again, and the look would take some hundredths of the time that a small run takes.
 */
let looked = 0;
const wholeLooks = 4_096;
const lookEvery = 16;

/** The names that each client was warned of. */
const told = new WeakMap<Recorder, Set<string>>();

/**
 * Warns of unknown options, once for each name. Never throws: a misspelt option must not lose a run. Objects without
 * unknown keys, which are most, are checked without an allocation.
 */
export function warnOfUnknown<Options>(
  options: unknown,
  known: KeyTable<Options>,
  recording: Recorder,
): undefined {
  looked += 1;
  if (looked > wholeLooks && looked % lookEvery !== 0) {
    return;
  }
  try {
    // A caller without types may pass anything.
    for (const name in options as Readonly<Record<string, unknown>>) {
      if (!(name in known)) {
        warn(options, Object.keys(known), recording);
        return;
      }
    }
  } catch {
    // Options that can't be looked at have no names; what can be read of them is recorded.
  }
}

function warn(options: unknown, known: readonly string[], recording: Recorder): void {
  const names = told.get(recording) ?? new Set();
  told.set(recording, names);
  for (const key of unknownKeysOf(options, known)) {
    if (!names.has(key.name) && names.size < mostNames) {
      names.add(key.name);
      recording.warn("unknownOption", unknownKeyText("option", key));
    }
  }
}

/** Names may come from data, so the number of warnings is bounded. */
const mostNames = 100;

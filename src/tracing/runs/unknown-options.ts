import { unknownKeysOf, unknownKeyText } from "../../model/unknown-keys.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import type { Recorder } from "../tape/recorder.ts";

/**
 * Number of option objects that were passed to {@link warnOfUnknown}. The first {@link alwaysChecked} are all checked;
 * of the later ones, only one in {@link checkInterval} is. A program that misspells an option does so repeatedly, and a
 * check for every run would take a few percent of the time to record a small run.
 */
let checkCount = 0;
const alwaysChecked = 4_096;
const checkInterval = 16;

/** Unknown option names for which each client has already logged a warning. */
const warnedNames = new WeakMap<Recorder, Set<string>>();

/**
 * Warns about unknown options, once for each name. Never throws: a misspelt option must not cause the loss of a run.
 * Most objects have no unknown keys; checking them allocates nothing.
 */
export function warnOfUnknown<Options>(
  options: unknown,
  knownOptions: KeyTable<Options>,
  runRecorder: Recorder,
): undefined {
  checkCount += 1;
  if (checkCount > alwaysChecked && checkCount % checkInterval !== 0) {
    return;
  }
  try {
    // A JavaScript caller may pass anything.
    for (const name in options as Readonly<Record<string, unknown>>) {
      if (!(name in knownOptions)) {
        warnOncePerName(options, Object.keys(knownOptions), runRecorder);
        return;
      }
    }
  } catch {
    // The keys of the options can't be read, so they can't be checked. The run is recorded anyway.
  }
}

function warnOncePerName(
  options: unknown,
  knownOptions: readonly string[],
  runRecorder: Recorder,
): void {
  const names = warnedNames.get(runRecorder) ?? new Set();
  warnedNames.set(runRecorder, names);
  for (const key of unknownKeysOf(options, knownOptions)) {
    if (!names.has(key.name) && names.size < maxWarnedNames) {
      names.add(key.name);
      runRecorder.warn("unknownOption", unknownKeyText("option", key));
    }
  }
}

/** Option names may come from data, so the number of warnings is bounded. */
const maxWarnedNames = 100;

import { down, faultNames, infoBodies } from "./faults.ts";
import type { InfoName } from "./faults.ts";
import { Random } from "./random.ts";

/** An action on the server or the producers, and its time in milliseconds after the beginning. */
export type Step =
  | { readonly atMs: number; readonly is: "fault"; readonly fault: string }
  | { readonly atMs: number; readonly is: "info"; readonly info: InfoName }
  | { readonly atMs: number; readonly is: "kill worker" }
  | { readonly atMs: number; readonly is: "set clock"; readonly offByMs: number }
  | { readonly atMs: number; readonly is: "kill producer" }
  | { readonly atMs: number; readonly is: "kill server"; readonly forMs: number };

export interface PlanOptions {
  readonly seed: number;
  readonly durationMs: number;
}

/** A plan of at least this length contains one long outage of the server. */
const longPlanMs = 600_000;
const longOutageMs = 120_000;
const hourMs = 3_600_000;

/** The time in which every fault occurs once, for any seed. Shorter plans down to the half of it have shorter faults. */
const allFaultsMs = 120_000;

/** Creates the plan for a seed, always the same one. Every fault occurs once before any occurs again. */
export function planOf({ seed, durationMs }: PlanOptions): readonly Step[] {
  const random = new Random(seed);
  return [
    ...faultSteps(random, durationMs),
    ...repeated(random, durationMs, { everyMs: [3_000, 6_000] }, (atMs) => ({
      atMs,
      is: "info",
      info: random.pick(infoNames),
    })),
    ...repeated(random, durationMs, { everyMs: [4_000, 12_000] }, (atMs) => ({
      atMs,
      is: "kill worker",
    })),
    ...repeated(random, durationMs, { everyMs: [5_000, 15_000] }, (atMs) => ({
      atMs,
      is: "set clock",
      offByMs: random.integer(-hourMs, hourMs),
    })),
    ...repeated(random, durationMs, { everyMs: [7_000, 16_000] }, (atMs) => ({
      atMs,
      is: "kill producer",
    })),
    ...repeated(random, durationMs, { everyMs: [25_000, 50_000] }, (atMs) => ({
      atMs,
      is: "kill server",
      forMs: random.integer(100, 2_000),
    })),
  ]
    .filter(({ atMs }) => atMs < durationMs)
    .toSorted((a, b) => a.atMs - b.atMs);
}

const infoNames = Object.keys(infoBodies) as [InfoName, ...InfoName[]];

function faultSteps(random: Random, durationMs: number): readonly Step[] {
  const steps: Step[] = [];
  let remaining: string[] = [];
  let atMs = random.integer(200, 1_000);
  let needsLongOutage = durationMs >= longPlanMs;
  const pace = Math.min(1, Math.max(0.5, durationMs / allFaultsMs));
  while (atMs < durationMs) {
    remaining = remaining.length === 0 ? random.shuffled(faultNames) : remaining;
    const fault = remaining.pop() ?? down;
    steps.push({ atMs, is: "fault", fault });
    const isLong = fault === down && needsLongOutage && atMs + longOutageMs < durationMs;
    needsLongOutage &&= !isLong;
    atMs += isLong ? longOutageMs : pace * random.integer(500, 2_000);
    if (random.chance(0.7)) {
      steps.push({ atMs, is: "fault", fault: "none" });
      atMs += pace * random.integer(200, 700);
    }
  }
  return steps;
}

function repeated(
  random: Random,
  durationMs: number,
  { everyMs: [least, most] }: { readonly everyMs: readonly [number, number] },
  stepAt: (atMs: number) => Step,
): readonly Step[] {
  const steps: Step[] = [];
  for (
    let atMs = random.integer(least, most);
    atMs < durationMs;
    atMs += random.integer(least, most)
  ) {
    steps.push(stepAt(atMs));
  }
  return steps;
}

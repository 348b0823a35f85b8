import { down, faultNames, infos } from "./faults.ts";
import type { InfoName } from "./faults.ts";
import { Random } from "./random.ts";

/** What is done to the server and the producers, and when, in milliseconds after the beginning. */
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

/** From so long on a plan has the server down for minutes, once. */
const longPlanMs = 600_000;
const longOutageMs = 120_000;
const hourMs = 3_600_000;

/** The same plan for the same seed. Every fault comes once before any comes again. */
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

const infoNames = Object.keys(infos) as [InfoName, ...InfoName[]];

function faultSteps(random: Random, durationMs: number): readonly Step[] {
  const steps: Step[] = [];
  let left: string[] = [];
  let atMs = random.integer(200, 1_000);
  let longOutageDue = durationMs >= longPlanMs;
  while (atMs < durationMs) {
    left = left.length === 0 ? random.shuffled(faultNames) : left;
    const fault = left.pop() ?? down;
    steps.push({ atMs, is: "fault", fault });
    const isLong = fault === down && longOutageDue && atMs + longOutageMs < durationMs;
    longOutageDue &&= !isLong;
    atMs += isLong ? longOutageMs : random.integer(500, 2_000);
    if (random.chance(0.7)) {
      steps.push({ atMs, is: "fault", fault: "none" });
      atMs += random.integer(200, 700);
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

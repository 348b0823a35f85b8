import { roundCost } from "../runs/usage/run-cost.ts";
import type { TraceUsage } from "../experiments/experiment.ts";
import type { Thread, Turn } from "./thread.ts";

/** A turn as it is stored. Its usage is that of the run that stands for it, which may report none. */
export type StoredTurn = Omit<Turn, "feedback">;

/** Computes a thread from its turns, which are in the order of their start. */
export function toThread(
  id: string,
  turns: readonly StoredTurn[],
  {
    usage,
    ...members
  }: Pick<Thread, "isTruncated" | "lastMessage" | "feedback"> & {
    /** The usage of all model calls by trace. */
    readonly usage: ReadonlyMap<string, TraceUsage>;
  },
): Thread {
  return {
    ...members,
    id,
    turnCount: turns.length,
    errorCount: turns.filter(({ hasError }) => hasError).length,
    firstStartMicros: turns[0]?.startMicros ?? 0,
    lastStartMicros: turns.at(-1)?.startMicros ?? 0,
    tokens: sumKnown(turns.map((turn) => usage.get(turn.traceId)?.tokens ?? turn.tokens)),
    cost: sumKnown(turns.map((turn) => usage.get(turn.traceId)?.cost ?? turn.cost)),
  };
}

/** Sums the numbers that are not null. Returns `null` if there are none, because an unknown cost is not zero. */
function sumKnown(numbers: readonly (number | null)[]): number | null {
  const knownNumbers = numbers.filter((number) => number !== null);
  return knownNumbers.length === 0
    ? null
    : roundCost(knownNumbers.reduce((total, next) => total + next, 0));
}

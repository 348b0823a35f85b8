import { Bench } from "tinybench";
import { median, formatNumber, formatSpread, table } from "./results.ts";

/** One of several implementations that are compared. */
export interface Variant {
  /** Variants of one group do the same work and are compared with each other. */
  readonly group: string;
  readonly name: string;
  /** How often `run` does the work. tinybench times the whole call. */
  readonly times: number;
  readonly run: () => void;
}

const rounds = 5;
const roundMs = 200;

/**
 * Times all variants in interleaved rounds. Returns a table with the microseconds for one execution and the ratio to the
 * first variant of the group.
 */
export async function timeVariants(variants: readonly Variant[]): Promise<string> {
  const micros = variants.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, variant] of variants.entries()) {
      micros[index]?.push(await timeOnce(variant));
    }
  }
  const rows = variants.map(({ group, name }, index) => {
    const ownMicros = micros[index] ?? [];
    const firstMicros = micros[variants.findIndex((variant) => variant.group === group)] ?? [];
    return [
      group,
      name,
      formatSpread(ownMicros),
      formatNumber(median(ownMicros) / median(firstMicros)),
    ];
  });
  const head = ["", "variant", "µs", "relative to the first"];
  return `${table(head, rows)}\n\nMedian (lowest–highest) of ${rounds} interleaved rounds of ${roundMs} ms; a round's figure is its median.`;
}

async function timeOnce({ name, times, run }: Variant): Promise<number> {
  const bench = new Bench({ time: roundMs, warmupTime: roundMs / 2 });
  bench.add(name, run);
  const [task] = await bench.run();
  const result = task?.result;
  if (result?.state !== "completed") {
    throw new Error(`The variant failed: ${name}`, { cause: result });
  }
  return (result.latency.p50 * 1_000) / times;
}

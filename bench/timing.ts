import { Bench } from "tinybench";
import { median, show, spread, table } from "./results.ts";

/** One way of doing something. */
export interface Way {
  /** What it is compared under: ways of one group do the same. */
  readonly group: string;
  readonly name: string;
  /** Does it `times` times; tinybench takes the clock around the whole. */
  readonly times: number;
  readonly run: () => void;
}

const rounds = 5;
const roundMs = 200;

/** Times every way in interleaved rounds; microseconds for one time, and how many times the group's first. */
export async function timeWays(ways: readonly Way[]): Promise<string> {
  const micros = ways.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, way] of ways.entries()) {
      micros[index]?.push(await timeOnce(way));
    }
  }
  const rows = ways.map(({ group, name }, index) => {
    const own = micros[index] ?? [];
    const first = micros[ways.findIndex((way) => way.group === group)] ?? [];
    return [group, name, spread(own), show(median(own) / median(first))];
  });
  const head = ["", "way", "µs", "of the first"];
  return `${table(head, rows)}\n\nMedian (lowest–highest) of ${rounds} interleaved rounds of ${roundMs} ms; a round's figure is its median.`;
}

async function timeOnce({ name, times, run }: Way): Promise<number> {
  const bench = new Bench({ time: roundMs, warmupTime: roundMs / 2 });
  bench.add(name, run);
  const [task] = await bench.run();
  const result = task?.result;
  if (result?.state !== "completed") {
    throw new Error(`A way failed: ${name}`, { cause: result });
  }
  return (result.latency.p50 * 1_000) / times;
}

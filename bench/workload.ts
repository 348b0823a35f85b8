/** The payloads of the suite. They stand with `millrace bench`, which may not depend on the benches. */
export {
  childrenPerTree,
  createPayloads,
  createRandom,
  createText,
  runsPerTree,
  sizeNames,
  sizes,
} from "../cli/src/bench/workload.ts";
export type { Payload, SizeName } from "../cli/src/bench/workload.ts";

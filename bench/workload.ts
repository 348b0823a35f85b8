/**
 * The payloads of the suite. They are defined in the CLI, whose command `millrace bench` must not depend on this
 * package.
 */
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

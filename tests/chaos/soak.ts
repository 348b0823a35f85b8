// Records while faults occur, and checks that everything arrived: `npm run soak -- --minutes 60 --seed 7`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { runSoak } from "./soak/run-soak.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "2" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    /** Whether to keep journals and spools after the soak. */
    keep: { type: "boolean", default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
if (!(minutes > 0 && minutes <= 1_440) || !Number.isSafeInteger(seed)) {
  throw new RangeError("--minutes must be more than 0 and at most 1440, and --seed a whole number");
}
const folder = mkdtempSync(join(tmpdir(), "millrace-soak-"));
const began = performance.now();
const log = (text: string): void => {
  console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(6)} s  ${text}`);
};

log(`Seed ${seed}, ${minutes} min, in ${folder}`);
const report = await runSoak({ seed, minutes, folder, log });
console.log(JSON.stringify(report, undefined, 2));
log(report.faults.length === 0 ? "Nothing is missing." : `${report.faults.length} faults.`);
if (values.keep) {
  log(`Journals and spools are in ${folder}`);
} else {
  rmSync(folder, { recursive: true });
}
process.exitCode = report.faults.length === 0 ? 0 : 1;

// Records through two servers on PostgreSQL with a standby, ends one part after the other, and checks that everything that
// was acknowledged is stored; first with the database alone, then with a log in front of it: `npm run cluster-test`, or
// `npm run cluster-test -- --short`. `--mode store` or `--mode log` runs one of the two. The long form also fills the log,
// takes the database away for two minutes, runs the conformance and interop suites against the servers meanwhile, and
// records at least 100,000 complete runs.
// If both modes run, it does this only in the second, because the suites take minutes.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { runClusterTest } from "./run-cluster-test.ts";

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    mode: { type: "string" },
    /** Whether to keep data and logs after the test. */
    keep: { type: "boolean", default: false },
  },
});
const modes = ["store", "log"] as const;
if (values.mode !== undefined && !modes.some((mode) => mode === values.mode)) {
  throw new Error(`--mode must be store or log, not ${values.mode}`);
}
const folder = mkdtempSync(join(tmpdir(), "millrace-cluster-"));
// PostgreSQL runs as another user, and must reach its folder in this one.
chmodSync(folder, 0o755);
const began = performance.now();
const log = (text: string): void => {
  console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(6)} s  ${text}`);
};

log(`Data and logs are in ${folder}`);
const results: string[] = [];
const minRuns = 100_000;
let recordedRuns = 0;
const chosenModes = modes.filter((name) => values.mode === undefined || values.mode === name);
for (const mode of chosenModes) {
  log(mode === "log" ? "With a log in front of PostgreSQL" : "With PostgreSQL alone");
  const isLong = !values.short && mode === chosenModes.at(-1);
  const { faults, runs, recorded, missing, passedTests, problems } = await runClusterTest({
    folder: join(folder, mode),
    withLog: mode === "log",
    // The suites and the servers share the processors, so that more runs would prolong the suites.
    runsPerSecond: 105,
    // With more, the log is full before the database is back.
    fullRunsPerSecond: values.short ? 100 : 170,
    pauseSeconds: 4,
    isLong,
    // Some more, because a run that is still open when a program ends is not complete.
    minRuns: isLong ? minRuns - recordedRuns + 100 : 0,
    log,
  });
  recordedRuns += runs;
  for (const problem of problems) {
    log(`PROBLEM: ${problem}`);
  }
  if (missing > 0 || problems.length > 0) {
    process.exitCode = 1;
  }
  results.push(
    `${mode}: ${faults.map(({ fault }) => fault.toLowerCase()).join(", ")}; ${runs} complete runs; of ${recorded} records that had to arrive ${missing} are missing; ${passedTests > 0 ? `${passedTests} tests passed meanwhile; ` : ""}${problems.length} problems`,
  );
}
if (!values.keep) {
  rmSync(folder, { recursive: true });
}
results.push(`${((performance.now() - began) / 60_000).toFixed(1)} minutes`);
console.log(results.join(" | "));

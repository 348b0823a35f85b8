// Compares the public API with the reports in config/api, one for each entry point. With `--local` it updates the
// reports
// instead; commit the changes.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";

const entryPoints = ["main", "model", "spool", "wire"];
const extractorFlags = process.argv.includes("--local") ? ["--local"] : ["--print-api-report-diff"];

mkdirSync("config/api", { recursive: true });
const stale = entryPoints.filter((name) => {
  const config = `config/api-extractor.${name}.json`;
  const { status } = spawnSync("api-extractor", ["run", "--config", config, ...extractorFlags], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  return status !== 0;
});

if (stale.length > 0) {
  console.error(
    `The public API differs from its report for: ${stale.join(", ")}. If that is intended, run: npm run api`,
  );
  process.exitCode = 1;
}

// Prints the last line of CI, `N passed, N failed`, from vitest's report:
// `node scripts/tally.mjs temp/vitest.json <number of failed stages>`. A test file that can't be loaded counts as a
// failed
// test. If no test failed, the number of failed stages is printed.
import { existsSync, readFileSync } from "node:fs";

const [reportPath, failedStages] = process.argv.slice(2);
const report = existsSync(reportPath)
  ? JSON.parse(readFileSync(reportPath, "utf8"))
  : { numPassedTests: 0, numFailedTests: 0, testResults: [] };

const brokenFiles = report.testResults.filter(
  ({ status, assertionResults }) =>
    status === "failed" && assertionResults.every((test) => test.status !== "failed"),
);
const failedTests = report.numFailedTests + brokenFiles.length;
const failed = failedTests > 0 ? failedTests : Number(failedStages);

console.log(`${report.numPassedTests} passed, ${failed} failed`);
if (failed > 0 || report.numPassedTests === 0) {
  process.exitCode = 1;
}

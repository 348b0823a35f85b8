// Prints the closing line of CI, `N passed, N failed`, from the reports of the test commands:
// `node scripts/tally.mjs temp/tests <stages that failed>`. A test file that did not load counts as a failure. If no test
// failed but a stage did, the stages are counted.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [folder, failedStages] = process.argv.slice(2);
const names = existsSync(folder) ? readdirSync(folder) : [];
const reports = names.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));

const isBroken = ({ status, assertionResults }) =>
  status === "failed" && assertionResults.every((test) => test.status !== "failed");
const failuresOf = ({ numFailedTests, testResults }) =>
  numFailedTests + testResults.filter(isBroken).length;

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const passed = sum(reports.map(({ numPassedTests }) => numPassedTests));
const failed = sum(reports.map(failuresOf)) || Number(failedStages);

console.log(`${passed} passed, ${failed} failed`);
if (failed > 0 || passed === 0) {
  process.exitCode = 1;
}

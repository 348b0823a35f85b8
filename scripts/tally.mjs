// Prints what failed, and the closing line of CI, `N passed, N failed`, from the reports of the test commands:
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

// Repeated here because the log of a run is long, and its middle may be cut where it is read.
const maxMessageLength = 1_500;
const printFailure = (name, message) =>
  console.log(`FAILED ${name}\n${message.slice(0, maxMessageLength)}\n`);
for (const file of reports.flatMap(({ testResults }) => testResults)) {
  if (isBroken(file)) {
    printFailure(file.name, file.message);
  }
  for (const { status, fullName, failureMessages } of file.assertionResults) {
    if (status === "failed") {
      printFailure(`${file.name}: ${fullName}`, failureMessages.join("\n"));
    }
  }
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const passed = sum(reports.map(({ numPassedTests }) => numPassedTests));
const failed = sum(reports.map(failuresOf)) || Number(failedStages);

console.log(`${passed} passed, ${failed} failed`);
if (failed > 0 || passed === 0) {
  process.exitCode = 1;
}

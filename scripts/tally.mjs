// Prints the failures in the reports of the test commands, and then the last line of CI, `N passed, N failed`:
// `node scripts/tally.mjs temp/tests temp/tests-again <stages that failed>`. A test that failed first and passed when
// its file ran again is counted as passed and named. A test file that did not load counts as a failure. If a stage
// failed but no test did, the failed stages are counted.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [folder, againFolder, failedStages] = process.argv.slice(2);

const readReport = (name) => JSON.parse(readFileSync(name, "utf8"));
/** Whether the file itself failed, for example because it did not load. */
const isBroken = ({ status, assertionResults }) =>
  status === "failed" && assertionResults.every((test) => test.status !== "failed");
/** The failures in a report, as pairs of a name and a message. */
const failuresOf = ({ testResults }) =>
  testResults.flatMap((file) =>
    isBroken(file)
      ? [[file.name, file.message]]
      : file.assertionResults
          .filter(({ status }) => status === "failed")
          .map((test) => [`${file.name}: ${test.fullName}`, test.failureMessages.join("\n")]),
  );

// The failures are repeated here, because a viewer may omit the middle of a long log.
const maxMessageLength = 1_500;
const print = (kind, [name, message]) =>
  console.log(`${kind} ${name}\n${message.slice(0, maxMessageLength)}\n`);

let passed = 0;
let failed = 0;
let openStages = Number(failedStages);
for (const name of existsSync(folder) ? readdirSync(folder) : []) {
  const report = readReport(join(folder, name));
  const failures = failuresOf(report);
  const againFile = join(againFolder, name);
  const again = existsSync(againFile) ? readReport(againFile) : undefined;
  const passedAgain = failures.length > 0 && again?.success === true && again.numPassedTests > 0;
  for (const failure of failures) {
    print(passedAgain ? "FAILED, THEN PASSED ALONE" : "FAILED", failure);
  }
  passed += report.numPassedTests;
  if (passedAgain) {
    passed += failures.length;
    openStages -= 1;
  } else {
    failed += failures.length;
  }
}
failed ||= openStages;

console.log(`${passed} passed, ${failed} failed`);
if (failed > 0 || passed === 0) {
  process.exitCode = 1;
}

// Runs the test files in which a test failed once more at the end of CI: `node scripts/rerun-failed.mjs temp/tests
// temp/tests-again`. On a shared machine a test can fail because other programs used the processor. Such a test passes
// now, and the last lines of CI name it, so that somebody corrects it. Wrong code fails again.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { basename, join, relative } from "node:path";
import process from "node:process";

// If more test files failed, the load of the machine is not the cause.
const maxFiles = 5;

const [folder, againFolder] = process.argv.slice(2);
rmSync(againFolder, { recursive: true, force: true });
const failedFiles = (existsSync(folder) ? readdirSync(folder) : []).map((name) => ({
  script: basename(name, ".json").replace("-", ":"),
  files: JSON.parse(readFileSync(join(folder, name), "utf8"))
    .testResults.filter(({ status }) => status === "failed")
    .map(({ name: file }) => relative(process.cwd(), file)),
}));
const count = failedFiles.reduce((total, { files }) => total + files.length, 0);
if (count > maxFiles) {
  console.log(`${count} test files failed: too many to run them again`);
} else {
  for (const { script, files } of failedFiles) {
    if (files.length > 0) {
      spawnSync("npm", ["run", "--silent", "--ignore-scripts", script, "--", ...files], {
        stdio: "inherit",
        env: { ...process.env, TEST_REPORTS: againFolder },
      });
    }
  }
}

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/** How the conformance and interop suites ended. */
export interface SuiteResult {
  readonly passed: number;
  /** The titles of the tests that failed. */
  readonly failed: readonly string[];
  /** The files in which a test failed, or which could not be run. */
  readonly failedFiles: readonly string[];
}

const configPath = join(import.meta.dirname, "vitest.config.ts");

/**
 * Runs the conformance and interop suites against servers that share a database.
 *
 * @param files - only these files; all if it is empty
 */
export async function runSuites(
  urls: readonly string[],
  { folder, name, files = [] }: SuiteRun,
): Promise<SuiteResult> {
  const output = join(folder, `${name}.json`);
  const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
  const args = ["run", "--config", configPath, "--reporter", "json", "--outputFile", output];
  const child = spawn(process.execPath, [vitest, ...args, ...files], {
    cwd: join(import.meta.dirname, "../.."),
    env: { ...process.env, MILLRACE_TEST_SERVERS: urls.join(",") },
    stdio: "ignore",
  });
  await new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  if (!existsSync(output)) {
    throw new Error(`the suites ended without a report: ${child.signalCode ?? child.exitCode}`);
  }
  return parseReport(readFileSync(output, "utf8"));
}

interface SuiteRun {
  readonly folder: string;
  /** Names the report. */
  readonly name: string;
  readonly files?: readonly string[];
}

function parseReport(text: string): SuiteResult {
  const report = JSON.parse(text) as {
    readonly numPassedTests: number;
    readonly testResults: readonly {
      readonly name: string;
      readonly status: string;
      readonly assertionResults: readonly {
        readonly fullName: string;
        readonly status: string;
        readonly failureMessages: readonly string[];
      }[];
    }[];
  };
  return {
    passed: report.numPassedTests,
    failed: report.testResults.flatMap(({ assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === "failed")
        .map(
          ({ fullName, failureMessages }) =>
            `${fullName}: ${failureMessages[0]?.split("\n", 1)[0]}`,
        ),
    ),
    failedFiles: report.testResults
      .filter(({ status }) => status === "failed")
      .map(({ name }) => name),
  };
}

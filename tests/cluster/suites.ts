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

/** The servers that the suites use. They share a database. */
interface SuiteTarget {
  readonly urls: readonly string[];
  /** The address of the log that receives the runs; `undefined` without one. */
  readonly log: string | undefined;
  /** The folder of the reports. */
  readonly folder: string;
}

/** Runs the conformance and interop suites. */
async function runSuites(
  { urls, log, folder }: SuiteTarget,
  { name, files = [] }: SuiteRun,
): Promise<SuiteResult> {
  const output = join(folder, `${name}.json`);
  const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
  const args = ["run", "--config", configPath, "--reporter", "json", "--outputFile", output];
  const child = spawn(process.execPath, [vitest, ...args, ...files], {
    cwd: join(import.meta.dirname, "../.."),
    env: {
      ...process.env,
      MILLRACE_TEST_SERVERS: urls.join(","),
      ...(log !== undefined && { MILLRACE_TEST_LOG: log }),
    },
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
  /** Names the report. */
  readonly name: string;
  /** Only these files; all if there are none. */
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

/** The suites, which run again and again while parts are killed. A file in which a test failed then runs once more. */
export class RepeatedSuites {
  readonly #target: SuiteTarget;
  readonly #runs: Promise<readonly SuiteResult[]>;
  #isEnding = false;

  constructor(target: SuiteTarget) {
    this.#target = target;
    this.#runs = this.#runUntilEnd();
  }

  /** Resolves with the tests that passed, and with those that fail although everything is there. */
  async end(): Promise<SuiteResult> {
    this.#isEnding = true;
    const results = await this.#runs;
    const files = [...new Set(results.flatMap(({ failedFiles }) => failedFiles))];
    const passed = results.reduce((sum, result) => sum + result.passed, 0);
    if (files.length === 0) {
      return { passed, failed: [], failedFiles: [] };
    }
    const again = await runSuites(this.#target, { name: "again", files });
    return { ...again, passed: passed + again.passed };
  }

  async #runUntilEnd(): Promise<readonly SuiteResult[]> {
    const results: SuiteResult[] = [];
    while (!this.#isEnding) {
      const name = `suites${results.length}`;
      results.push(await runSuites(this.#target, { name }));
    }
    return results;
  }
}

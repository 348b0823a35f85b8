import type { Reporter, TestModule, Vitest } from "vitest/node";
import { formatResults } from "./results-table.ts";
import { readTestResult, reporterKey } from "./test-result.ts";
import type { TestResult } from "./test-result.ts";

/**
 * Prints the scores of each dataset after the tests, and the link to the experiment. Use it in addition to another
 * reporter: `reporters: ["default", "millrace/vitest/reporter"]`.
 */
// oxlint-disable-next-line import/no-default-export -- vitest creates the default export of a reporter's module
export default class MillraceReporter implements Reporter {
  #vitest: Vitest | undefined;

  /**
   * Called by vitest at the start. Sets a flag so that the tests do not print warnings, because this reporter prints
   * them.
   */
  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    // The casts are needed because the types of vitest contain only keys that programs declare, and this key is
    // internal.
    vitest.provide(reporterKey as never, true as never);
  }

  /** Called by vitest when all tests have finished. */
  onTestRunEnd(modules: readonly TestModule[]): void {
    const text = formatResults(listResults(modules));
    if (text !== "") {
      this.#vitest?.logger.log(text);
    }
  }
}

function* listResults(modules: readonly TestModule[]): Generator<TestResult, void> {
  for (const { children } of modules) {
    for (const test of children.allTests()) {
      const result = readTestResult(test.meta());
      if (result !== undefined) {
        yield result;
      }
    }
  }
}

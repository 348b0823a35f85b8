import process from "node:process";
import { configDefaults, defineConfig } from "vitest/config";
import type { TestProjectInlineConfiguration } from "vitest/config";

/** Tests that leave nothing behind: no environment variable, timer or global. They share a process and load imports once. */
const unit = [
  "tests/{api,model,tracing,transport,uploads}/**/*.test.ts",
  "web/tests/{api,app,components,features}/**/*.test.ts",
];
/** Tests in a browser, which need a built UI. */
const browser = ["web/tests/{e2e/**/*,build}.test.ts"];
/** Faults, kills, hostile load and full disks: minutes of them, and most wait. */
const chaos = ["{tests,server/tests,cli/tests}/chaos/**/*.test.ts", "tests/lifecycle/**/*.test.ts"];
/** Packages as they are published, the command, and the clients and libraries of others. */
const consumer = ["tests/{consumer,interop,examples}/**/*.test.ts", "cli/tests/*.test.ts"];

const project = (
  name: string,
  test: TestProjectInlineConfiguration["test"],
): TestProjectInlineConfiguration => ({ extends: true, test: { name, ...test } });

export default defineConfig({
  test: {
    pool: "forks",
    // One for each core: what a test waits for is mostly a thread or a socket.
    maxWorkers: "100%",
    // For a busy machine: no test takes this long on a quiet one.
    testTimeout: 40_000,
    hookTimeout: 60_000,
    // A promise or an error that escapes its test fails the run, and so does a run without tests.
    dangerouslyIgnoreUnhandledErrors: false,
    passWithNoTests: false,
    allowOnly: false,
    // CI adds up one report of each command.
    reporters: process.env["CI"]
      ? [
          "default",
          [
            "json",
            {
              outputFile: `temp/tests/${process.env["npm_lifecycle_event"]?.replace(":", "-")}.json`,
            },
          ],
        ]
      : ["default"],
    projects: [
      project("unit", { include: unit, isolate: false }),
      project("integration", {
        include: ["tests/**/*.test.ts", "web/tests/**/*.test.tsx"],
        exclude: [...configDefaults.exclude, ...unit, ...chaos, ...consumer],
      }),
      project("server", {
        include: ["server/{tests,src/**/tests}/*.test.ts"],
        globalSetup: "server/tests/support/shared-server.ts",
      }),
      project("chaos", { include: chaos }),
      project("browser", { include: browser }),
      project("consumer", { include: consumer }),
      project("types", {
        include: [],
        typecheck: {
          enabled: true,
          // The native compiler finds the same errors in a tenth of the time.
          checker: "node_modules/typescript-7.0/bin/tsc",
          include: ["tests/**/*.test-d.ts"],
          tsconfig: "tests/types/tsconfig.json",
        },
      }),
    ],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts", "server/src/**/*.ts", "cli/src/**/*.ts"],
      reporter: ["text-summary", "html", "json-summary"],
      reportsDirectory: "coverage",
    },
  },
});

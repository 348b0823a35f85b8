import { configDefaults, defineConfig } from "vitest/config";

/**
 * Files whose tests leave nothing behind: they share a process, and what they import is loaded once in
 * place of seventy times. One that changes the environment, a timer or a global belongs elsewhere.
 */
const together = [
  "tests/{api,model}/**/*.test.ts",
  "web/tests/{api,app,components,features}/**/*.test.ts",
];
const exclude = [...configDefaults.exclude, ...together];

export default defineConfig({
  test: {
    pool: "forks",
    // One for each core: what a test waits for is mostly a thread or a socket.
    maxWorkers: "100%",
    // For a busy machine: none needs so long on one that is quiet.
    testTimeout: 40_000,
    hookTimeout: 60_000,
    // A promise or an error that escapes its test fails the run, and so does a run without tests.
    dangerouslyIgnoreUnhandledErrors: false,
    passWithNoTests: false,
    allowOnly: false,
    // CI reads its closing line from the report.
    reporters: process.env["CI"]
      ? ["default", ["json", { outputFile: "temp/vitest.json" }]]
      : ["default"],
    projects: [
      {
        extends: true,
        test: {
          name: "millrace",
          include: ["tests/**/*.test.ts"],
          exclude,
          typecheck: {
            enabled: true,
            // The compiler in native code: it finds the same in a tenth of the time.
            checker: "node_modules/typescript-7.0/bin/tsc",
            include: ["tests/**/*.test-d.ts"],
            tsconfig: "tests/types/tsconfig.json",
          },
        },
      },
      { extends: true, test: { name: "server", include: ["server/tests/**/*.test.ts"] } },
      { extends: true, test: { name: "cli", include: ["cli/tests/**/*.test.ts"] } },
      { extends: true, test: { name: "web", include: ["web/tests/**/*.test.{ts,tsx}"], exclude } },
      { extends: true, test: { name: "together", include: together, isolate: false } },
    ],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts", "server/src/**/*.ts", "cli/src/**/*.ts"],
      reporter: ["text-summary", "html", "json-summary"],
      reportsDirectory: "coverage",
    },
  },
});

import process from "node:process";
import { configDefaults, defineConfig } from "vitest/config";
import type { TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

/** Tests without threads and servers of their own. */
const unit = [
  "tests/{api,bench,model,scorers,tracing,transport,uploads}/**/*.test.ts",
  "web/tests/{api,app,components,features}/**/*.test.ts",
];
/** The worker threads of the SDK and the parts that run in them. */
const workers = ["tests/workers/**/*.test.ts"];
/** What a process does only for its first options, which files that ran before in the process would have used up. */
const isolated = ["tests/integration/unknown-options.test.ts"];
/** Tests in a browser, which need a built UI. */
const browser = ["web/tests/{e2e/**/*,build}.test.ts"];
/** Faults, kills, hostile load and full disks: minutes of them, and most wait. */
const chaos = [
  "{tests,server/tests,cli/tests}/chaos/**/*.test.ts",
  "tests/lifecycle/**/*.test.ts",
  "tests/evaluation/resume.test.ts",
  "tests/integration/restart.test.ts",
];
/** Those of them that measure how long a thread waits. They run alone, because a test beside them would make it wait longer. */
const alone = [
  "server/tests/chaos/{blocked-thread,hostile-queries,hostile-writes,large-values,schema-isolation}.test.ts",
];
/** Packages as they are published, the command, and the clients, libraries and test runners of others. */
const consumer = [
  "tests/evaluation/vitest*.test.ts",
  "tests/{consumer,interop,examples}/**/*.test.ts",
  "cli/tests/*.test.ts",
  "langsmith/tests/*.test.ts",
];
/** Those of them with libraries that choose a client for the whole process when they first need one. */
const clients = ["tests/interop/lang*.test.ts", "langsmith/tests/*.test.ts"];
/** Files that take more than three seconds: they move, back up, restart and fill whole stores, or wait for time limits. */
const slow = ["{tests,server}/**/*.slow.test.ts"];
/** The newest releases of the libraries, which have a package.json of their own. */
const latest = ["tests/latest/*.test.ts"];

/** Files that run for so long that started last, they would run alone. */
const slowest = [
  "tests/chaos/soak.test.ts",
  "cli/tests/chaos/upload-killed.test.ts",
  "web/tests/e2e/states.test.ts",
  "web/tests/e2e/keys.test.ts",
  "tests/consumer/installed-packages.test.ts",
  "tests/consumer/bundlers.test.ts",
];

/** Starts the slowest files of each project first. The others keep vitest's order, by size or by the time they last took. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is the sequencer's method
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted
        .filter((file) => file.project === project)
        .toSorted((left, right) => placeOf(left) - placeOf(right)),
    );
  }
}

const placeOf = ({ moduleId }: TestSpecification): number =>
  slowest.some((path) => moduleId.endsWith(path)) ? 0 : 1;

/**
 * For test files that share a process, which loads imports once: for most files that takes longer than the tests. A setup
 * file fails a file that leaves a variable, a global or a fake timer behind.
 */
const shared = {
  isolate: false,
  setupFiles: "tests/support/shared-process.ts",
  restoreMocks: true,
  unstubEnvs: true,
  unstubGlobals: true,
} as const;

/** Starts a server for all tests of a project. */
const sharedServer = "server/tests/support/shared-server.ts";

const project = (
  name: string,
  test: TestProjectInlineConfiguration["test"],
): TestProjectInlineConfiguration => ({ extends: true, test: { name, ...test } });

export default defineConfig({
  test: {
    pool: "forks",
    // Each project has its own modules, but what a source is transformed to is the same for all of them, and for the
    // next command.
    experimental: { fsModuleCache: true },
    // One for each core: what a test waits for is mostly a thread or a socket.
    maxWorkers: "100%",
    sequence: { sequencer: SlowestFirst },
    // For a busy machine: no test takes this long on a quiet one.
    testTimeout: 40_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
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
              outputFile: `${process.env["TEST_REPORTS"] ?? "temp/tests"}/${process.env["npm_lifecycle_event"]?.replace(":", "-")}.json`,
            },
          ],
        ]
      : ["default"],
    projects: [
      project("unit", {
        ...shared,
        include: unit,
        exclude: [...configDefaults.exclude, ...slow],
        globalSetup: sharedServer,
      }),
      project("components", {
        ...shared,
        include: ["web/tests/**/*.test.tsx"],
        environment: "happy-dom",
        setupFiles: ["web/tests/support/testing-library.ts", shared.setupFiles],
      }),
      project("workers", {
        ...shared,
        include: workers,
        exclude: [...configDefaults.exclude, ...slow],
      }),
      project("isolated", { include: isolated }),
      project("integration", {
        ...shared,
        include: ["tests/**/*.test.ts"],
        exclude: [
          ...configDefaults.exclude,
          ...unit,
          ...workers,
          ...isolated,
          ...chaos,
          ...consumer,
          ...latest,
          ...slow,
        ],
        globalSetup: sharedServer,
      }),
      project("server", {
        ...shared,
        include: ["server/{tests,src/**/tests}/*.test.ts"],
        exclude: [...configDefaults.exclude, ...slow],
        globalSetup: sharedServer,
      }),
      project("slow", { ...shared, include: slow, globalSetup: sharedServer }),
      project("chaos", {
        include: chaos,
        exclude: [...configDefaults.exclude, ...alone],
        globalSetup: sharedServer,
      }),
      // One file at a time, after the other projects. A measurement above its limit is made again, because other
      // programs on the machine only add to a time. Code that is too slow fails each time.
      project("alone", { include: alone, maxWorkers: 1, sequence: { groupOrder: 1 }, retry: 2 }),
      // Three at a time: a browser mostly waits for the server, the timers and the frames of its page.
      project("browser", {
        ...shared,
        include: browser,
        globalSetup: "web/tests/support/extracted-chromium.ts",
        maxWorkers: 3,
      }),
      project("consumer", {
        ...shared,
        include: consumer,
        exclude: [...configDefaults.exclude, ...clients],
        globalSetup: ["tests/consumer/packed-packages.ts", sharedServer],
      }),
      project("clients", { include: clients }),
      project("latest", { include: latest, globalSetup: sharedServer }),
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
      include: ["src/**/*.ts", "server/src/**/*.ts", "cli/src/**/*.ts", "langsmith/src/**/*.ts"],
      exclude: ["server/src/**/tests/**"],
      reporter: ["text-summary", "html", "json-summary"],
      reportsDirectory: "coverage",
    },
  },
});

import { join } from "node:path";
import { defineConfig } from "vitest/config";

// The conformance and interop suites, for servers whose addresses are in `MILLRACE_TEST_SERVERS`.
export default defineConfig({
  test: {
    root: join(import.meta.dirname, "../.."),
    include: ["tests/endpoints.test.ts", "tests/interop/{langsmith-*,otlp,langchain}.test.ts"],
    // These test options of a server of their own, and what is shared with a second one.
    exclude: ["tests/interop/langsmith-{addresses,dataset-shares}.test.ts"],
    pool: "forks",
    // The tests wait for the servers most of the time, and each file has a tenant of its own. Beside four files, requests
    // exceeded their time while servers were killed, and the files had to run again.
    maxWorkers: 3,
    // A test during which a part is killed may fail. It is repeated at once; repeating its file takes a minute.
    retry: 2,
    // A server that is being killed, and a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});

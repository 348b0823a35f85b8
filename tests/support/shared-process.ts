import process from "node:process";
import { afterAll, beforeAll, expect, vi } from "vitest";

/**
 * What one test file could change for the next one in the same process. Mocks, stubbed variables and stubbed globals are
 * not listed, because vitest restores them before each test.
 */
const readSharedState = () => ({
  variables: { ...process.env },
  globals: Object.getOwnPropertyNames(globalThis).toSorted(),
  folder: process.cwd(),
  umask: process.umask(),
  hasFakeTimers: vi.isFakeTimers(),
});

// A setup file of the projects whose test files share processes. A file that leaves something behind fails, whatever runs
// after it.
let before: ReturnType<typeof readSharedState>;
beforeAll(() => {
  before = readSharedState();
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  // oxlint-disable-next-line vitest/no-standalone-expect -- it is about the whole file
  expect(readSharedState()).toEqual(before);
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { holdLimitMs, runSoak } from "./soak/run-soak.ts";

/** Two minutes are enough for every fault; who waits for the tests gets a part of them. */
const minutes = process.env["CI"] === undefined ? 0.5 : 2;
const seed = Number(process.env["SOAK_SEED"] ?? Date.now() % 1_000_000);

test(
  `nothing recorded is lost, altered or made up, whatever server, workers and processes do (seed ${seed}, ${minutes} min)`,
  { timeout: minutes * 60_000 + 240_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-soak-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const report = await runSoak({ seed, minutes, folder, say: () => undefined });
    expect(report).toMatchObject({ faults: [], missing: 0 });
    expect(report.arrived).toBeGreaterThan(minutes * 1_000);
    expect(report.crowded.lost).toBeGreaterThan(0);
    expect(report.longestHoldMs).toBeLessThanOrEqual(holdLimitMs);
  },
);

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runSoak } from "./soak/run-soak.ts";

/** One minute is enough for every fault. Outside of CI the soak is shorter and covers a part of the faults. */
const minutes = process.env["CI"] === undefined ? 0.5 : 1;
const seed = Number(process.env["SOAK_SEED"] ?? Date.now() % 1_000_000);

test(
  `no record is lost, altered or invented, whatever happens to server, workers and processes (seed ${seed}, ${minutes} min)`,
  { timeout: minutes * 60_000 + 240_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-soak-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const report = await runSoak({ seed, minutes, folder, log: () => undefined });
    expect(report).toMatchObject({ faults: [], missing: 0 });
    expect(report.arrived).toBeGreaterThan(minutes * 1_000);
    expect(report.overloaded.lost).toBeGreaterThan(0);
  },
);

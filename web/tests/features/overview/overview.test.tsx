import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import type { LiveReport } from "../../../src/api/live-report.ts";
import { LiveCharts, LiveTiles } from "../../../src/features/overview/live-activity.tsx";

afterEach(cleanup);

const live: LiveReport = {
  now: 1_000,
  senders: [],
  seconds: [
    {
      at: 990,
      projects: {
        a: { runs: 120, traces: 4, errors: 1, tokens: 0, cost: 0, latencies: [[236, 4]] },
      },
    },
  ],
};

const valueOf = (name: string): string | null | undefined =>
  screen.getByText(name).closest(".tile")?.querySelector("dd")?.textContent;

test("the tiles show the figures of the last minute, and a dash for missing ones", () => {
  render(<LiveTiles liveReport={live} />);
  expect(valueOf("Runs/s")).toBe("2");
  expect(valueOf("Error rate")).toBe("25 %");
  expect(valueOf("p99 latency")).toBe("97.7 ms");
  expect(valueOf("Tokens/min")).toBe("–");
});

test("the charts have a text description", () => {
  render(<LiveCharts liveReport={live} projects={[]} />);
  expect(screen.getByText(/runs\/s: last 0, lowest 0, highest 24\./)).toBeTruthy();
  expect(screen.getByText(/p50: last 97.7 ms/)).toBeTruthy();
});

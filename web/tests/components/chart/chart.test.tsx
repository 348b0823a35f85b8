import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { Chart } from "../../../src/components/chart/chart.tsx";

afterEach(cleanup);

const legend = (): readonly (string | null)[] =>
  [...document.querySelectorAll(".chart-legend li")].map(({ textContent }) => textContent);

test("without a selected position, the legend shows the whole range: the sum of bars, a total that was given, or nothing", () => {
  const positions = [0, 60_000];
  render(
    <Chart
      label="Runs"
      positions={positions}
      series={[
        { label: "OK", color: "--accent", kind: "stack", values: [600, 6] },
        { label: "p95", color: "--busy", values: [5, 7], total: 6 },
        { label: "mean", color: "--ink-2", values: [1, 2] },
      ]}
      onPick={() => undefined}
    />,
  );
  expect(legend()).toEqual(["OK 606", "p95 6", "mean "]);
  const slider = screen.getByRole("slider", { name: "Runs" });
  fireEvent.keyDown(slider, { key: "ArrowRight" });
  fireEvent.keyDown(slider, { key: "ArrowRight" });
  expect(legend()).toEqual(["OK 6", "p95 7", "mean 2"]);
});

test("a chart without a legend of its own shows the values of the selected position only", () => {
  render(
    <Chart
      label="Runs"
      positions={[0, 60_000]}
      series={[{ label: "OK", color: "--accent", kind: "stack", values: [600, 6] }]}
      hasLegend={false}
      onPick={() => undefined}
    />,
  );
  expect(legend()).toEqual([]);
  const press = (key: string): void => {
    fireEvent.keyDown(screen.getByRole("slider", { name: "Runs" }), { key });
  };
  // The first step leads to the newest position.
  press("ArrowRight");
  expect(legend()).toEqual(["OK 6"]);
  press("Home");
  expect(legend()).toEqual(["OK 600"]);
  press("End");
  expect(legend()).toEqual(["OK 6"]);
  press("ArrowLeft");
  expect(legend()).toEqual(["OK 600"]);
});

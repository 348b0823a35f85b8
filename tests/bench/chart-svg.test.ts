import { expect, test } from "vitest";
import { drawChart, parseDeliverTable, parseOrigin } from "../../bench/chart-svg.ts";

const results = `<!-- peers: written by the command below -->
## What does a run cost?

\`npm run x\`
Node 24.1.0, linux x64; 2 cores of <b>, 24 GB; commit abc1234

| size | client | main CPU µs/run | main CPU, of naive's |
| --- | --- | --- | --- |
| S | the harness alone | 0.5 (0.5–0.7) |  |
| S | naive | 27 (24.2–34.6) |  |
| XL | millrace | 1,382 (356–1,528) | 0.07 |

| size | ours, of | main CPU |
| --- | --- | --- |
| S | naive | 0.28 (0.2–0.3) |
<!-- end of peers -->`;

test("the chart shows the medians of the clients, not the harness and not the ratios", () => {
  expect(parseDeliverTable(results)).toEqual([
    { name: "S", bars: [{ client: "naive", micros: 27 }] },
    { name: "XL", bars: [{ client: "millrace", micros: 1_382 }] },
  ]);
});

test("the longest bar is the slowest client's, and names are text", () => {
  const svg = drawChart([
    {
      name: "S",
      bars: [
        { client: "millrace", micros: 10 },
        { client: "<b>", micros: 40 },
      ],
    },
  ]);
  const widths = [...svg.matchAll(/class="bar[^"]*"[^>]* width="([\d.]+)"/g)].map(([, width]) =>
    Number(width),
  );
  expect(widths[1]).toBe((widths[0] ?? 0) * 4);
  expect(svg).toContain("&lt;b>");
});

test("the chart names the source of its figures", () => {
  const origin = parseOrigin(results);
  expect(origin).toBe("Node 24.1.0, linux x64; 2 cores of <b>, 24 GB; commit abc1234");
  expect(drawChart(parseDeliverTable(results), origin)).toContain("2 cores of &lt;b>, 24 GB");
});

test("without results no chart is drawn", () => {
  expect(() => parseDeliverTable("# Results")).toThrow(RangeError);
});

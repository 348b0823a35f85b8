import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { toExperimentColumns } from "../../../src/features/experiments/experiment-columns.tsx";
import { parseExperiments } from "../../../src/features/experiments/experiment.ts";

const project = { id: "e1", name: "first", start_time: "2026-11-21T10:11:12Z", extra: {} };

/** What the columns with statistics show of an experiment. */
function renderStatistics(item: object): Readonly<Record<string, string>> {
  const [experiment] = parseExperiments([item]);
  if (experiment === undefined) {
    throw new Error("the experiment was not parsed");
  }
  const columns = toExperimentColumns([experiment], undefined, () => ({
    kind: "done",
    label: "Done",
  }));
  return Object.fromEntries(
    columns
      .filter(({ id }) => ["errors", "latency", "tokens", "cost", "runs"].includes(id))
      .map(({ id, renderCell }) => [
        id,
        renderToStaticMarkup(<>{renderCell(experiment)}</>).replaceAll(/<[^>]+>/g, ""),
      ]),
  );
}

test("an experiment whose statistics could not be read in time shows no number, rather than zero", () => {
  expect(renderStatistics({ ...project, stats_complete: false })).toEqual({
    errors: "–",
    latency: "–",
    tokens: "–",
    cost: "–",
    runs: "–",
  });
});

test("an experiment without runs has none, and an error rate of zero", () => {
  const stats = { run_count: 0, error_rate: null, latency_p50: null, total_tokens: 0 };
  expect(renderStatistics({ ...project, ...stats })).toMatchObject({ errors: "0 %", runs: "0" });
});

import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Story } from "./story-context.ts";

export const tellExperiments: Story = async ({ client, checkEffect, recordTrace }) => {
  const { experiments, examples, projects } = client;
  const { id: datasetId } = await client.datasets.create({ name: "of the experiments" });
  const example = await examples.create({ datasetId, inputs: { q: 1 } });
  const [one, two] = await Promise.all(
    ["one", "two"].map((name) => projects.create({ name, referenceDatasetId: datasetId })),
  );
  const experimentIds = [one!.id, two!.id];
  const trace = await recordTrace({ project: "one", referenceExampleId: example.id });
  const created = await experiments.createComparative({
    id: randomUUID(),
    name: "one against two",
    experimentIds,
    referenceDatasetId: datasetId,
    description: "which",
    metadata: { by: "me" },
    createdAt: new Date(),
  });
  const vote = await client.feedback.create({
    runId: trace.rootId,
    key: "preferred",
    score: 1,
    comparativeExperimentId: created.id,
  });
  await client.feedback.create({ runId: trace.rootId, key: "aside", score: 0 });
  const votes = await client.feedback.list({ comparativeExperimentId: created.id }).toArray();
  const found = await experiments
    .listComparative({
      datasetId,
      ids: [created.id],
      name: "one against two",
      nameContains: "against",
      limit: 5,
    })
    .toArray();
  const compared = await experiments
    .compare({
      datasetId,
      experimentIds,
      exampleIds: [example.id],
      filters: { [one!.id]: ['eq(name, "root")'] },
      comparativeExperimentId: created.id,
      limit: 5,
    })
    .toArray();
  await checkEffect(() => {
    expect(votes.map(({ id }) => id)).toEqual([vote.id]);
    expect(found).toMatchObject([{ id: created.id, name: "one against two" }]);
    expect(compared).toHaveLength(1);
    const runs = compared[0]?.runs[one!.id]?.map(({ run, feedbackStats }) => [
      run.id,
      Object.keys(feedbackStats),
    ]);
    expect(runs).toEqual([[trace.rootId, ["preferred"]]]);
  });
};

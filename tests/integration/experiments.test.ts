import { randomUUID } from "node:crypto";
import { Client } from "millrace";
import type { Project } from "millrace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useServer } from "../../server/tests/support/running-server.ts";

const server = useServer();
let client: Client;
beforeAll(() => {
  client = new Client({ endpoint: server.url });
});
afterAll(async () => {
  await client.close();
});

const newName = (what: string): string => `${what} ${randomUUID()}`;

interface ExperimentPair {
  readonly datasetId: string;
  readonly exampleIds: readonly string[];
  readonly left: Project;
  readonly right: Project;
}

/** Creates two experiments over three examples: the left one ran each example twice, the right one only the first two. */
async function createExperiments(): Promise<ExperimentPair> {
  const { id: datasetId } = await client.datasets.create({ name: newName("d") });
  const { exampleIds } = await client.examples.createMany({
    datasetId,
    examples: [0, 1, 2].map((n) => ({ inputs: { n }, outputs: { n } })),
  });
  const project = (name: string) =>
    client.projects.create({ name: newName(name), referenceDatasetId: datasetId });
  const [left, right] = await Promise.all([project("left"), project("right")]);
  const record = (of: Project, referenceExampleId: string, score: number) => {
    const run = client.startRun({
      name: "try",
      projectName: of.name,
      inputs: {},
      referenceExampleId,
    });
    run.end({ score });
    return { runId: run.id, score };
  };
  const runs = exampleIds.flatMap((id, n) => [
    record(left, id, n),
    record(left, id, n),
    ...(n < 2 ? [record(right, id, 1)] : []),
  ]);
  await client.flush();
  await Promise.all(
    runs.map(({ runId, score }) => client.feedback.create({ runId, key: "correct", score })),
  );
  return { datasetId, exampleIds, left, right };
}

test("runs of experiments are returned with their example and their feedback", async () => {
  const { datasetId, exampleIds, left, right } = await createExperiments();
  const experimentIds = [left.id, right.id];
  const compared = await client.experiments.compare({ datasetId, experimentIds }).toArray();
  const byNumber = compared.toSorted(
    (one, other) => Number(one.example.inputs["n"]) - Number(other.example.inputs["n"]),
  );
  expect(byNumber.map(({ example }) => example.id)).toEqual(exampleIds);
  expect(
    byNumber.map(({ runs }) => experimentIds.map((id) => runs[id]?.map(({ run }) => run.outputs))),
  ).toEqual([
    [[{ score: 0 }, { score: 0 }], [{ score: 1 }]],
    [[{ score: 1 }, { score: 1 }], [{ score: 1 }]],
    [[{ score: 2 }, { score: 2 }], []],
  ]);
  expect(byNumber[2]?.runs[left.id]?.[0]?.feedbackStats).toMatchObject({
    correct: { n: 1, avg: 2 },
  });
  const [one] = await client.experiments
    .compare({ datasetId, experimentIds: [right.id], exampleIds: exampleIds.slice(0, 1) })
    .toArray();
  expect(Object.keys(one?.runs ?? {})).toEqual([right.id]);
  expect(
    await client.experiments.compare({ datasetId, experimentIds, limit: 2 }).toArray(),
  ).toHaveLength(2);
});

test("a comparison is created for the experiments' dataset, and listed", async () => {
  const { datasetId, left, right } = await createExperiments();
  const name = `<b>'; --" ${randomUUID()}`;
  const experimentIds = [left.id, right.id];
  const created = await client.experiments.createComparative({
    name,
    experimentIds,
    description: name,
    metadata: { [name]: name },
  });
  expect(created).toMatchObject({
    name,
    referenceDatasetId: datasetId,
    metadata: { [name]: name },
  });
  const listed = await client.experiments.listComparative({ datasetId }).toArray();
  expect(listed).toMatchObject([{ id: created.id, name, description: name }]);
  expect(listed[0]?.experiments?.map(({ id }) => id).toSorted()).toEqual(experimentIds.toSorted());
  const none = client.experiments.listComparative({ datasetId, nameContains: "other" });
  expect(await none.toArray()).toEqual([]);
  expect(
    await client.experiments.listComparative({ datasetId, ids: [created.id], name }).toArray(),
  ).toHaveLength(1);
});

test("a project without a dataset can't be compared as an experiment", async () => {
  const { id } = await client.projects.create({ name: newName("plain") });
  await expect(
    client.experiments.createComparative({ name: "c", experimentIds: [id] }),
  ).rejects.toMatchObject({
    code: "VALIDATION",
    message:
      "A reference dataset is required: pass referenceDatasetId, or experiments that have a reference dataset",
  });
});

test("experiments over a deleted dataset can't be compared", async () => {
  const { datasetId, left } = await createExperiments();
  await client.datasets.delete({ datasetId: datasetId });
  const compared = client.experiments.compare({ datasetId, experimentIds: [left.id] });
  await expect(compared.toArray()).rejects.toMatchObject({ code: "NOT_FOUND" });
});

import type { Client, Feedback, KeyValues, Run } from "millrace";

/** All that a program has stored on a server, without what differs from one execution to the next. */
export interface StoredStory {
  readonly datasets: readonly unknown[];
  readonly projects: readonly unknown[];
  readonly comparisons: readonly unknown[];
}

/** Reads what a program has stored. Ids are replaced by what they refer to; times, random names and the runtime are left out. */
export async function readStory(client: Client): Promise<StoredStory> {
  const datasets = [];
  const comparisons = [];
  for await (const dataset of client.datasets.list()) {
    const examples = await client.examples.list({ datasetId: dataset.id }).toArray();
    datasets.push({
      name: dataset.name,
      // Langsmith writes when it created the dataset of tests.
      description:
        dataset.description?.replace(/^Dataset for unit tests created on .*/, "") || undefined,
      metadata: withoutRuntime(dataset.metadata),
      examples: examples
        .map(({ inputs, outputs, metadata, splits }) => ({ inputs, outputs, metadata, splits }))
        .toSorted(byText),
    });
    for await (const comparison of client.experiments.listComparative({ datasetId: dataset.id })) {
      comparisons.push({
        description: comparison.description,
        experiments: comparison.experiments?.map(({ name }) => withoutSuffix(name)).toSorted(),
      });
    }
  }
  const projects = [];
  for await (const project of client.projects.list()) {
    const runs = (
      await client.runs.list({ projectIds: [project.id], order: "asc" }).toArray()
    ).filter((run) => !isOfSummaryEvaluator(run));
    // The runs of evaluators have other inputs: docs/moving-over.md.
    if (project.name !== "evaluators" && runs.length > 0) {
      projects.push({
        name: withoutSuffix(project.name),
        description: project.description,
        metadata: withoutRuntime((project.extra["metadata"] ?? {}) as KeyValues),
        dataset: project.referenceDatasetId !== undefined,
        feedback: await readFeedback(client, { projectIds: [project.id], level: "project" }),
        traces: await describeTraces(client, runs),
      });
    }
  }
  return {
    datasets: datasets.map(withoutIds).toSorted(byText),
    projects: projects.map(withoutIds).toSorted(byText),
    comparisons: comparisons.toSorted(byText),
  };
}

const uuids = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;

/**
 * Replaces generated ids in all texts. A member `id` is left out: LangGraph adds it to a message after it was passed on, and
 * only Millrace records the message as it was at the call.
 */
function withoutIds(value: unknown): unknown {
  if (typeof value === "string") {
    return value.replaceAll(uuids, "…");
  }
  if (Array.isArray(value)) {
    return value.map(withoutIds);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, member]) => key !== "id" || !String(member).match(uuids))
      .map(([key, member]) => [key, withoutIds(member)]),
  );
}

/** Langsmith records calls of summary evaluators in the program's project. */
const isOfSummaryEvaluator = ({ inputs }: Run): boolean =>
  /^Runs\[\] \(Length=\d+\)$/.test(String((inputs?.["args"] as unknown[] | undefined)?.[0]));

async function describeTraces(client: Client, runs: readonly Run[]): Promise<readonly unknown[]> {
  const children = new Map<string, Run[]>();
  for (const run of runs) {
    const { parentRunId = "" } = run;
    children.set(parentRunId, [...(children.get(parentRunId) ?? []), run]);
  }
  const describe = async (run: Run): Promise<unknown> => ({
    name: run.name.replace(/ \(repetition \d+ of \d+\)$/, ""),
    runType: run.runType,
    inputs: run.inputs,
    outputs: run.outputs,
    error: run.error?.split("\n", 1)[0]?.replace(/^AssertionError: /, "Error: "),
    tags: (run.tags ?? []).toSorted(),
    metadata: withoutRuntime(run.extra?.metadata ?? {}),
    events: (run.events ?? []).map((event) => {
      const { time: _, ...others } = event as KeyValues;
      return others;
    }),
    example:
      run.referenceExampleId === undefined
        ? undefined
        : (await client.examples.read(run.referenceExampleId)).inputs,
    attachments: await readAttachments(client, run.id),
    isEnded: run.endTime !== undefined,
    feedback: await readFeedback(client, { runIds: [run.id] }),
    // Children that started together may be stored in either order.
    children: (await Promise.all((children.get(run.id) ?? []).map(describe))).toSorted(byText),
  });
  const roots = await Promise.all((children.get("") ?? []).map(describe));
  return roots.toSorted(byText);
}

async function readAttachments(client: Client, runId: string): Promise<readonly unknown[]> {
  const attachments = await client.runs.readAttachments(runId);
  const read = Object.entries(attachments).map(async ([name, attachment]) => ({
    name,
    mimeType: attachment.mimeType,
    bytes: [...(await client.runs.readAttachment(attachment))],
  }));
  return (await Promise.all(read)).toSorted(byText);
}

async function readFeedback(
  client: Client,
  filter: {
    readonly runIds?: string[];
    readonly projectIds?: string[];
    readonly level?: "project";
  },
): Promise<readonly unknown[]> {
  const feedback = await client.feedback.list(filter).toArray();
  return feedback.map(describeFeedback).toSorted(byText);
}

const describeFeedback = ({ key, score, value, comment, correction }: Feedback) => ({
  key,
  score: Number(score),
  value,
  // Millrace says why a test of vitest failed.
  comment: key === "pass" ? undefined : comment,
  correction,
});

/** Keys of metadata that tell about the machine, or that the packages add for themselves. */
const ownKeys =
  /^(LANGSMITH_|LANGCHAIN_|revision_id$|git$|NODE_ENV$|branch$|commit$|dirty$|millrace|example_version$|example_id$|repetition$|num_repetitions$|dataset_|runtime$|ls_runner|__ls)/;

const withoutRuntime = (metadata: KeyValues): KeyValues =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => !ownKeys.test(key)));

/** The name without what makes it unique. */
const withoutSuffix = (name: string): string => name.replaceAll(/-[\da-f]{8}\b/g, "-…");

const byText = (left: unknown, right: unknown): number =>
  (JSON.stringify(left) ?? "") < (JSON.stringify(right) ?? "") ? -1 : 1;

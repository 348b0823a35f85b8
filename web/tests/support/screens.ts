import type { Client } from "millrace";

/** The names and URL paths of screens. */
export type Screens = readonly (readonly [name: string, path: string])[];

/** Creates one of each resource that has a screen. Returns the path of each screen. */
export async function recordScreens(
  client: Client,
  {
    url,
    project,
    traceId,
  }: { readonly url: string; readonly project: string; readonly traceId: string },
): Promise<Screens> {
  await client.feedback.create({ runId: traceId, key: "helpful", score: 1 });
  const dataset = await client.datasets.create({
    name: "questions",
    description: "What people ask",
  });
  const { exampleIds } = await client.examples.createMany({
    datasetId: dataset.id,
    examples: [{ inputs: { question: "When?" }, outputs: { answer: "Now" }, split: "train" }],
  });
  const experiments: string[] = [];
  for (const name of ["before", "after"]) {
    const { id } = await client.projects.create({ name, referenceDatasetId: dataset.id });
    const run = client.startRun({ name, projectName: name, referenceExampleId: exampleIds[0]! });
    run.end({ answer: name });
    experiments.push(id);
  }
  client
    .startRun({ name: "chat", inputs: { text: "Hello" }, metadata: { thread_id: "chat-1" } })
    .end({ answer: "How can I help?" });
  await client.flush();
  const queue = await client.annotationQueues.create({ name: "doubts" });
  await client.annotationQueues.addRuns(queue.id, { runIds: [traceId] });
  await client.prompts.push("support-answer", { manifest: { template: "Answer {question}" } });
  const [commit] = await client.prompts.listCommits("support-answer").toArray();
  const request = async (
    method: string,
    path: string,
    body: object,
  ): Promise<Record<string, string>> => {
    const response = await fetch(url + path, { method, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, string>;
  };
  const run = await request("PUT", `/runs/${traceId}/share`, { run_id: traceId });
  const trace = await request("PUT", `/ui/traces/${traceId}/share`, {});
  const shared = await request("PUT", `/datasets/${dataset.id}/share`, { dataset_id: dataset.id });
  const form = await request("POST", "/feedback/tokens", {
    run_id: traceId,
    feedback_key: "helpful",
  });
  const [tenant, projectId] = [project.split("/projects/")[0]!, project.split("/").at(-1)!];
  const view = await client.views.create({
    projectId,
    name: "failed",
    filter: 'eq(status, "error")',
  });
  const webhook = await request("POST", "/ui/webhooks", {
    name: "on call",
    url: "https://93.184.215.14/hook",
  });
  await request("POST", "/ui/rules", {
    session_id: projectId,
    name: "doubts to review",
    filter: 'eq(status, "error")',
    sampling_rate: 0.5,
    action: { kind: "queue", queue_id: queue.id },
  });
  await request("POST", "/ui/alerts", {
    session_id: projectId,
    name: "too many errors",
    figure: "error_rate",
    scope: "traces",
    group: { by: "name", value: "chat" },
    window_minutes: 15,
    direction: "above",
    threshold: 0.05,
    webhook_id: webhook["id"],
  });
  await request("PUT", "/ui/prices", {
    prices: [{ model: "small-*", from: "2026-01-01", prices: { input: 1, output: 2 } }],
  });
  const datasetPath = `${tenant}/datasets/${dataset.id}`;
  return [
    ["home", "/"],
    ["projects", `${tenant}/projects`],
    ["runs", project],
    ["views", `${project}/views`],
    ["view", `${project}/views/${view.id}`],
    ["dashboard", `${project}/dashboard?group=name&scope=all`],
    ["threads", `${project}/threads`],
    ["thread", `${project}/thread?id=chat-1`],
    ["trace", `${project}?trace=${traceId}`],
    ["datasets", `${tenant}/datasets`],
    ["examples", `${datasetPath}?example=${exampleIds[0]}`],
    ["versions", `${datasetPath}?tab=versions`],
    ["experiments", `${datasetPath}?tab=experiments`],
    ["pairwise", `${datasetPath}?tab=comparisons`],
    ["new experiment", `${datasetPath}/new-experiment`],
    ["dataset of a new experiment", "/experiments/new"],
    ["compare", `${datasetPath}/compare?experiments=${experiments.join(",")}`],
    ["rules", `${tenant}/rules?project=${projectId}`],
    ["alerts", `${tenant}/rules?project=${projectId}&tab=alerts`],
    ["webhooks", `${tenant}/rules?tab=webhooks`],
    ["feedback", `${tenant}/feedback?project=${projectId}`],
    ["queues", `${tenant}/annotation-queues`],
    ["review", `${tenant}/annotation-queues/${queue.id}`],
    ["queue-runs", `${tenant}/annotation-queues/${queue.id}?view=runs`],
    ["prompts", "/prompts"],
    ["hub", "/hub"],
    ["prompt", "/prompts/support-answer"],
    ["prompt-commit", `/prompts/support-answer/${commit?.commitHash.slice(0, 8)}`],
    ["hub-prompt", "/hub/-/support-answer"],
    ["hub-commit", `/hub/-/support-answer/${commit?.commitHash.slice(0, 8)}`],
    ["commits", "/prompts/support-answer?tab=commits"],
    ["prompt-code", "/prompts/support-answer?tab=pull"],
    ["prompt-settings", "/prompts/support-answer?tab=settings"],
    ["playground", "/playground"],
    ["jobs", `${tenant}/jobs`],
    ["settings", `${tenant}/settings`],
    ["prices", `${tenant}/settings/prices`],
    ["audit", `${tenant}/settings/audit`],
    ["shared-run", `/public/${run["share_token"]}/r`],
    ["shared-trace", `/public/${trace["share_token"]}/r`],
    ["shared-dataset", `/public/${shared["share_token"]}/d`],
    ["feedback-form", new URL(form["url"]!).pathname],
  ];
}

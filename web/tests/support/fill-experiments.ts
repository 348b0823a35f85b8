import { randomUUID } from "node:crypto";

/** How many experiments on how many examples to write. */
export interface ExperimentFill {
  readonly experiments: number;
  readonly examples: number;
  /** Reports how many results have been written. */
  readonly onProgress?: (results: number) => void;
}

/** What {@link fillExperiments} has written. Experiment `n` is named `experiment n`, example `n` asks question `n`. */
export interface FilledExperiments {
  readonly datasetId: string;
  readonly tenantId: string;
  readonly experimentIds: readonly string[];
  readonly exampleIds: readonly string[];
}

const resultsPerRequest = 500;
const requestsAtOnce = 2;
const boundary = "fill-experiments-boundary";
const words =
  "order refund parcel delay invoice address customer account please thank question the and of".split(
    " ",
  );

/**
 * The score of an experiment on an example. It is exact in binary and depends on both numbers, so that a test can
 * compute what a comparison has to show.
 */
export const toFilledScore = (experiment: number, example: number): number =>
  ((example * 7 + experiment * 13 + ((example * experiment) % 5)) % 65) / 64;

/** The result of each 97th example of an experiment is an error; which one depends on the experiment. */
export const isFilledError = (experiment: number, example: number): boolean =>
  example % 97 === experiment;

/**
 * Writes a dataset and experiments on it, as an evaluation would: one root run for each example, with a model call below
 * it and two scores. All requests are multipart, because a result with its scores is then one part of a request.
 */
export async function fillExperiments(
  url: string,
  { experiments, examples, onProgress }: ExperimentFill,
): Promise<FilledExperiments> {
  const dataset = await post(url, "/datasets", { name: `filled ${randomUUID().slice(0, 8)}` });
  const datasetId = String(dataset["id"]);
  const exampleIds = Array.from({ length: examples }, () => randomUUID());
  for (let first = 0; first < examples; first += resultsPerRequest) {
    const rows = exampleIds.slice(first, first + resultsPerRequest).map((id, index) => ({
      id,
      dataset_id: datasetId,
      inputs: { question: `Question ${first + index}: ${createText(first + index, 12)}` },
      outputs: { answer: createText(first + index, 8) },
    }));
    // Sequential, so that the examples keep their order.
    await post(url, "/examples/bulk", rows);
  }
  const experimentIds: string[] = [];
  const startMs = Date.now() - (experiments + 1) * 60_000;
  let results = 0;
  for (let experiment = 0; experiment < experiments; experiment += 1) {
    const name = `experiment ${experiment} of ${datasetId.slice(0, 8)}`;
    const project = await post(url, "/sessions", {
      name,
      reference_dataset_id: datasetId,
      start_time: new Date(startMs + experiment * 60_000).toISOString(),
      end_time: new Date(startMs + (experiment + 1) * 60_000).toISOString(),
    });
    experimentIds.push(String(project["id"]));
    const waiting: (() => Promise<unknown>)[] = [];
    for (let first = 0; first < examples; first += resultsPerRequest) {
      const parts = exampleIds.slice(first, first + resultsPerRequest).map((exampleId, index) =>
        createResult({
          experiment,
          example: first + index,
          exampleId,
          project: name,
          startMs: startMs + experiment * 60_000,
        }),
      );
      waiting.push(async () => postParts(url, parts.flat()));
    }
    for (let first = 0; first < waiting.length; first += requestsAtOnce) {
      await Promise.all(
        waiting.slice(first, first + requestsAtOnce).map(async (sendNext) => sendNext()),
      );
    }
    results += examples;
    onProgress?.(results);
  }
  return { datasetId, tenantId: String(dataset["tenant_id"]), experimentIds, exampleIds };
}

interface FilledResult {
  readonly experiment: number;
  readonly example: number;
  readonly exampleId: string;
  readonly project: string;
  readonly startMs: number;
}

interface Part {
  readonly name: string;
  readonly body: object;
}

function createResult({
  experiment,
  example,
  exampleId,
  project,
  startMs,
}: FilledResult): readonly Part[] {
  const [id, callId] = [randomUUID(), randomUUID()];
  const start = new Date(startMs + example);
  const isFailed = isFilledError(experiment, example);
  const root = {
    id,
    trace_id: id,
    dotted_order: toStamp(start) + id,
    session_name: project,
    name: "answer",
    run_type: "chain",
    reference_example_id: exampleId,
    start_time: start.toISOString(),
    end_time: new Date(start.getTime() + 400 + (example % 900)).toISOString(),
    inputs: { question: `Question ${example}: ${createText(example, 12)}` },
    outputs: isFailed ? null : { answer: createText(example + experiment, 30) },
    ...(isFailed ? { error: "TimeoutError: the model did not answer" } : {}),
  };
  const call = {
    ...root,
    id: callId,
    parent_run_id: id,
    dotted_order: `${root.dotted_order}.${toStamp(start)}${callId}`,
    name: "model",
    run_type: "llm",
    reference_example_id: null,
    outputs: { usage_metadata: { input_tokens: 40, output_tokens: 30, total_tokens: 70 } },
  };
  const score = toFilledScore(experiment, example);
  return [
    { name: `post.${id}`, body: root },
    { name: `post.${callId}`, body: call },
    ...["correct", "brief"].map((key, index) => ({
      name: `feedback.${id}`,
      body: {
        id: randomUUID(),
        run_id: id,
        trace_id: id,
        key,
        score: index === 0 ? score : 1 - score,
      },
    })),
  ];
}

const createText = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, index) => words[(seed * 7 + index * 5) % words.length]).join(
    " ",
  );

const toStamp = (date: Date): string => `${date.toISOString().replace(/[-:.Z]/g, "")}000Z`;

async function post(
  url: string,
  path: string,
  body: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  return send(url + path, { "content-type": "application/json" }, JSON.stringify(body));
}

async function postParts(url: string, parts: readonly Part[]): Promise<unknown> {
  const texts = parts.map(({ name, body }) => {
    const json = JSON.stringify(body);
    const type = `application/json; length=${Buffer.byteLength(json)}`;
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\n\r\n${json}\r\n`;
  });
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
  return send(`${url}/runs/multipart`, headers, `${texts.join("")}--${boundary}--\r\n`);
}

async function send(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, { method: "POST", headers, body });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`POST ${url}: ${response.status} ${text.slice(0, 500)}`);
  }
  return text === "" ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
}

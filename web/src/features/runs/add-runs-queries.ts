import { queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";

const datasetsPath = endpointPath("/datasets");
const examplesPath = endpointPath("/examples/bulk");
const queuesPath = endpointPath("/annotation-queues");
const queuePath = (id: string): string => `${queuesPath}/${encodeURIComponent(id)}/runs`;

/** Where runs can be put: a dataset, or an annotation queue. */
export interface Target {
  readonly id: string;
  readonly name: string;
}

/** More are chosen by a part of their name. */
const shownMax = 50;
/** Examples of one request. */
const examplesAtOnce = 500;

const targetsQuery = (noun: string, path: string, part: string) =>
  queryOptions({
    queryKey: ["run-targets", noun, part],
    queryFn: async ({ signal }) => {
      const parameters = new URLSearchParams({
        limit: String(shownMax),
        ...(part === "" ? {} : { name_contains: part }),
      });
      return parseTargets(await getJson(`${path}?${parameters.toString()}`, signal));
    },
  });

export const targetDatasetsQuery = (part: string) => targetsQuery("datasets", datasetsPath, part);
export const targetQueuesQuery = (part: string) => targetsQuery("queues", queuesPath, part);

export const createTargetDataset = async (name: string): Promise<Target> =>
  parseTarget(await postJson(datasetsPath, { name }));

export const createTargetQueue = async (name: string): Promise<Target> =>
  parseTarget(await postJson(queuesPath, { name }));

/** Which of a run's values an example takes over. */
export interface ExampleMapping {
  readonly hasOutputs: boolean;
  /** Names of the splits, or none. */
  readonly split: string;
}

/** Makes an example of each run; the server copies inputs and outputs, whatever their size. */
export async function addRunsToDataset(
  datasetId: string,
  runIds: readonly string[],
  { hasOutputs, split }: ExampleMapping,
): Promise<void> {
  for (let from = 0; from < runIds.length; from += examplesAtOnce) {
    const examples = await Promise.all(
      runIds.slice(from, from + examplesAtOnce).map(async (id) => ({
        dataset_id: datasetId,
        source_run_id: id,
        ...(split === "" ? {} : { split }),
        ...(hasOutputs ? { use_source_run_io: true } : { inputs: await readInputs(id) }),
      })),
    );
    // One after the other: each is a version of the dataset.
    await postJson(examplesPath, examples);
  }
}

async function readInputs(id: string): Promise<unknown> {
  const { inputs } = (await getJson(endpointPath("/runs/:id", { id }))) as {
    readonly inputs?: unknown;
  };
  return inputs ?? {};
}

export const addRunsToQueue = async (queueId: string, runIds: readonly string[]): Promise<void> => {
  await postJson(queuePath(queueId), runIds);
};

const parseTargets = (value: unknown): readonly Target[] =>
  Array.isArray(value) ? value.map(parseTarget) : [];

function parseTarget(value: unknown): Target {
  const { id, name } = value as Partial<Target>;
  if (typeof id !== "string" || typeof name !== "string") {
    throw new TypeError("the server's answer holds something without id or name");
  }
  return { id, name };
}

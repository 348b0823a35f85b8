import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";

const datasetsPath = toEndpointPath("/datasets");
const examplesPath = toEndpointPath("/examples/bulk");
const queuesPath = toEndpointPath("/annotation-queues");
const toQueueRunsPath = (id: string): string => `${queuesPath}/${encodeURIComponent(id)}/runs`;

/** A dataset or an annotation queue to which runs can be added. */
export interface Destination {
  readonly id: string;
  readonly name: string;
}

/** The maximum number of datasets or queues in the list. Others can be found by a part of their name. */
const maxDestinations = 50;
/** The maximum number of examples in one request. */
const examplesPerRequest = 500;

const createDestinationsQuery = (resource: string, path: string, namePart: string) =>
  queryOptions({
    queryKey: ["run-targets", resource, namePart],
    queryFn: async ({ signal }) => {
      const parameters = new URLSearchParams({
        limit: String(maxDestinations),
        ...(namePart === "" ? {} : { name_contains: namePart }),
      });
      return parseDestinations(await getJson(`${path}?${parameters.toString()}`, signal));
    },
  });

/** The datasets whose name contains `namePart`. */
export const createDatasetDestinationsQuery = (namePart: string) =>
  createDestinationsQuery("datasets", datasetsPath, namePart);

/** The annotation queues whose name contains `namePart`. */
export const createQueueDestinationsQuery = (namePart: string) =>
  createDestinationsQuery("queues", queuesPath, namePart);

export const createNamedDataset = async (name: string): Promise<Destination> =>
  parseDestination(await postJson(datasetsPath, { name }));

export const createNamedQueue = async (name: string): Promise<Destination> =>
  parseDestination(await postJson(queuesPath, { name }));

/** How runs are converted to examples. */
export interface ExampleMapping {
  /** Whether a run's outputs become the example's reference outputs. */
  readonly includesOutputs: boolean;
  /** The name of the split; empty for the default split. */
  readonly split: string;
}

/**
 * Creates an example from each run. If outputs are included, the server copies inputs and outputs from the run;
 * otherwise this function reads the inputs and sends them.
 */
export async function addRunsToDataset(
  datasetId: string,
  runIds: readonly string[],
  { includesOutputs, split }: ExampleMapping,
): Promise<void> {
  for (let from = 0; from < runIds.length; from += examplesPerRequest) {
    const examples = await Promise.all(
      runIds.slice(from, from + examplesPerRequest).map(async (id) => ({
        dataset_id: datasetId,
        source_run_id: id,
        ...(split === "" ? {} : { split }),
        ...(includesOutputs ? { use_source_run_io: true } : { inputs: await readInputs(id) }),
      })),
    );
    // Send one request after the other, because each request creates a version of the dataset.
    await postJson(examplesPath, examples);
  }
}

async function readInputs(id: string): Promise<unknown> {
  const { inputs } = (await getJson(toEndpointPath("/runs/:id", { id }))) as {
    readonly inputs?: unknown;
  };
  return inputs ?? {};
}

export const addRunsToQueue = async (queueId: string, runIds: readonly string[]): Promise<void> => {
  await postJson(toQueueRunsPath(queueId), runIds);
};

const parseDestinations = (value: unknown): readonly Destination[] =>
  Array.isArray(value) ? value.map(parseDestination) : [];

function parseDestination(value: unknown): Destination {
  const { id, name } = value as Partial<Destination>;
  if (typeof id !== "string" || typeof name !== "string") {
    throw new TypeError("The response contains an item without an id or a name.");
  }
  return { id, name };
}

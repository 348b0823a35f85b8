import type { NewExample } from "millrace";
import type { KeyValues } from "millrace/model";
import type { Item, Phase } from "../model/import-source.ts";
import { omitUndefined } from "../../omit-undefined.ts";
import { isObject, toText, toTime } from "../model/json-values.ts";
import { createThenImport } from "../model/import-source.ts";
import { readAllByOffset, readOffsetPage } from "../source/pages.ts";
import { readIdAndName } from "../source/source-client.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import type { LangfuseProject } from "./langfuse-project.ts";
import { readDataPage } from "./data-page.ts";
import { downloadMedia } from "./media.ts";
import { toInputs, toMetadata, toOutputs } from "./payloads.ts";

/** Imports datasets with their active items. */
export const createDatasetPhase = (
  settings: ImportSettings,
  readProject: () => Promise<LangfuseProject>,
): Phase => ({
  name: "datasets",
  listItems: async () => {
    const project = await readProject();
    const items: Item[] = [];
    const datasets = readAllByOffset((range) =>
      readDataPage(settings.client, "/api/public/v2/datasets", range),
    );
    for await (const json of datasets) {
      const { id, name } = readIdAndName(json, "dataset");
      const dataset = { settings, project, json, id, name };
      items.push({
        key: id,
        label: `dataset ${JSON.stringify(name)}`,
        importPage: createThenImport(
          async () => (await settings.target.addDataset(toNewDataset(dataset))) !== undefined,
          (cursor) => importItems(dataset, cursor),
        ),
      });
    }
    return items;
  },
});

interface SourceDataset {
  readonly settings: ImportSettings;
  readonly project: LangfuseProject;
  readonly json: KeyValues;
  readonly id: string;
  readonly name: string;
}

async function importItems(
  dataset: SourceDataset,
  cursor: string | undefined,
): Promise<string | undefined> {
  const { settings, project, name, id } = dataset;
  const { client, target } = settings;
  const { rows, next } = await readOffsetPage(cursor, (range) =>
    readDataPage(client, "/api/public/dataset-items", { ...range, datasetName: name }),
  );
  await target.addExamples(project.ids.dataset(id), toExamples(dataset, rows));
  return next;
}

function toNewDataset({ json, id, name, project }: SourceDataset) {
  const { inputSchema, expectedOutputSchema } = json;
  return omitUndefined({
    id: project.ids.dataset(id),
    name,
    description: toText(json["description"]),
    inputsSchema: toSchema(inputSchema, "input"),
    outputsSchema: toSchema(expectedOutputSchema, "output"),
    metadata: { ...toMetadata(json["metadata"]), imported_from: "langfuse", langfuse_id: id },
    createdAt: toTime(json["createdAt"]),
  });
}

/**
 * Converts a JSON schema. The values of examples are objects, so a schema for another type applies to the member that
 * contains the value.
 */
function toSchema(schema: unknown, name: string): KeyValues | undefined {
  if (!isObject(schema)) {
    return undefined;
  }
  const isForObjects = schema["type"] === "object" || schema["type"] === undefined;
  return isForObjects
    ? schema
    : { type: "object", properties: { [name]: schema }, required: [name] };
}

async function* toExamples(
  { settings, project }: SourceDataset,
  rows: readonly KeyValues[],
): AsyncGenerator<NewExample> {
  const { ids } = project;
  for (const row of rows) {
    const id = toText(row["id"]);
    if (id === undefined || row["status"] === "ARCHIVED") {
      const reason = id === undefined ? "it has no id" : "it is archived";
      settings.target.tally.leaveOut("examples", reason, id);
      continue;
    }
    const [traceId, observationId] = [
      toText(row["sourceTraceId"]),
      toText(row["sourceObservationId"]),
    ];
    yield omitUndefined({
      id: ids.item(id),
      inputs: toInputs(row["input"]),
      outputs: toOutputs(row["expectedOutput"]),
      metadata: omitUndefined({
        ...toMetadata(row["metadata"]),
        langfuse_id: id,
        langfuse_source_trace_id: traceId,
        langfuse_source_observation_id: observationId,
      }),
      createdAt: toTime(row["createdAt"]),
      sourceRunId: toSourceRun(ids, traceId, observationId),
      attachments: await downloadMedia(row, settings),
    });
  }
}

function toSourceRun(
  ids: LangfuseProject["ids"],
  traceId: string | undefined,
  observationId: string | undefined,
): string | undefined {
  if (traceId === undefined) {
    return undefined;
  }
  return observationId === undefined ? ids.trace(traceId) : ids.observation(traceId, observationId);
}

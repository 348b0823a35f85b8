import type { DataType, NewExample } from "millrace";
import type { KeyValues } from "millrace/model";
import type { Item, Phase } from "../model/import-source.ts";
import { downloadAttachments } from "../source/download-attachments.ts";
import { omitUndefined } from "../../omit-undefined.ts";
import { isObject, toObject, toObjects, toText, toTexts, toTime } from "../model/json-values.ts";
import { readAllByOffset, readOffsetPage } from "../source/pages.ts";
import { readIdAndName } from "../source/source-client.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import { readLinks } from "./run-phase.ts";

/** Creates the phase that imports datasets with the examples of their latest version. */
export const createDatasetPhase = (settings: ImportSettings): Phase => ({
  name: "datasets",
  listItems: async () => {
    const items: Item[] = [];
    for await (const dataset of listDatasets(settings)) {
      items.push({
        key: dataset.id,
        label: `dataset ${JSON.stringify(dataset.name)}`,
        importPage: (cursor) => importPage(settings, dataset, cursor),
      });
    }
    return items;
  },
});

/** Lists the datasets of the source. */
export async function* listDatasets({ client }: ImportSettings): AsyncGenerator<SourceDataset> {
  const datasets = readAllByOffset(async (page) =>
    toObjects(
      await client.get("/datasets", { ...page, sort_by: "created_at", sort_by_desc: "false" }),
    ),
  );
  for await (const json of datasets) {
    yield { ...readIdAndName(json, "dataset"), json };
  }
}

interface SourceDataset {
  readonly id: string;
  readonly name: string;
  readonly json: KeyValues;
}

/**
 * The imported version, and the offset of the next example. Offsets stay valid, because the examples of a version don't
 * change.
 */
interface Cursor {
  readonly asOf?: string | undefined;
  readonly offset?: string | undefined;
}

async function importPage(
  settings: ImportSettings,
  dataset: SourceDataset,
  cursorText: string | undefined,
): Promise<string | undefined> {
  const { target } = settings;
  if (cursorText === undefined) {
    const id = await target.addDataset(toNewDataset(dataset));
    const asOf = id === undefined ? undefined : await readLatestVersion(settings, dataset);
    return id === undefined ? undefined : formatCursor({ asOf });
  }
  const cursor = parseCursor(cursorText);
  const { rows, next } = await readOffsetPage(cursor.offset, async (page) =>
    toObjects(
      await settings.client.get("/examples", {
        dataset: dataset.id,
        as_of: cursor.asOf,
        ...page,
        select: exampleFields,
      }),
    ),
  );
  const existingIds = await target.findExamples(
    dataset.id,
    rows.filter(hasAttachments).map((row) => toText(row["id"]) ?? ""),
  );
  await target.addExamples(dataset.id, toExamples(settings, rows, existingIds));
  if (next !== undefined) {
    return formatCursor({ ...cursor, offset: next });
  }
  await copyTags(settings, dataset, cursor.asOf);
  return undefined;
}

const exampleFields = [
  "id",
  "created_at",
  "source_run_id",
  "metadata",
  "inputs",
  "outputs",
  "attachment_urls",
];

const formatCursor = (cursor: Cursor): string => JSON.stringify(omitUndefined(cursor));

function parseCursor(text: string): Cursor {
  const { asOf, offset } = toObject(JSON.parse(text));
  return { asOf: toText(asOf), offset: toText(offset) };
}

const dataTypes: readonly DataType[] = ["kv", "llm", "chat"];

const toSchema = (value: unknown): KeyValues | undefined => (isObject(value) ? value : undefined);

function toNewDataset({ id, name, json }: SourceDataset) {
  return omitUndefined({
    id,
    name,
    description: toText(json["description"]),
    dataType: dataTypes.find((type) => type === json["data_type"]),
    inputsSchema: toSchema(json["inputs_schema_definition"]),
    outputsSchema: toSchema(json["outputs_schema_definition"]),
    metadata: toSchema(json["metadata"]),
    createdAt: toTime(json["created_at"]),
  });
}

const readVersions = async (
  { client }: ImportSettings,
  { id }: SourceDataset,
  limit: number,
): Promise<readonly KeyValues[]> =>
  toObjects((await client.find(`/datasets/${id}/versions`, { limit })) ?? []);

/** Returns the time of the newest version; `undefined` if the dataset was never changed. */
async function readLatestVersion(
  settings: ImportSettings,
  dataset: SourceDataset,
): Promise<string | undefined> {
  const [latest] = await readVersions(settings, dataset, 1);
  return toText(latest?.["as_of"]);
}

/**
 * Copies the tags of the imported version. Tags of older versions are reported as left out, because these versions are
 * not imported.
 */
async function copyTags(
  settings: ImportSettings,
  dataset: SourceDataset,
  asOf: string | undefined,
): Promise<void> {
  const { target } = settings;
  const { client, signal, tally } = target;
  if (asOf === undefined || target.isDryRun) {
    return;
  }
  for (const version of await readVersions(settings, dataset, 100)) {
    const tags = toTexts(version["tags"]).filter((tag) => tag !== "latest");
    for (const tag of tags) {
      if (version["as_of"] === asOf) {
        const { asOf: targetVersion } = await client.datasets.readVersion({
          datasetId: dataset.id,
          tag: "latest",
          signal,
        });
        await client.datasets.tag({ datasetId: dataset.id, tag, asOf: targetVersion, signal });
      } else {
        tally.leaveOut(
          "datasets",
          "only the latest version is imported, so a tag of an older version has nothing to point to",
          `${dataset.name}:${tag}`,
        );
      }
    }
  }
}

const hasAttachments = (row: KeyValues): boolean => readLinks(row["attachment_urls"]).length > 0;

/** @param existingIds - ids of the rows that the target has with their attachments, which are not downloaded again */
async function* toExamples(
  { client, target }: ImportSettings,
  rows: readonly KeyValues[],
  existingIds: ReadonlySet<string>,
): AsyncGenerator<NewExample> {
  const { tally, isDryRun } = target;
  for (const row of rows) {
    const id = toText(row["id"]);
    const { dataset_split: split, ...metadata } = toObject(row["metadata"]);
    const links = readLinks(row["attachment_urls"]);
    const isExisting = existingIds.has(id ?? "");
    if (isExisting) {
      tally.add("attachments", "existing", links.length);
    }
    const attachments = isExisting
      ? undefined
      : await downloadAttachments(links, { client, tally, isDryRun, row: id ?? "" });
    yield omitUndefined({
      id,
      inputs: toObject(row["inputs"]),
      outputs: isObject(row["outputs"]) ? row["outputs"] : undefined,
      metadata,
      split: Array.isArray(split) ? toTexts(split) : toText(split),
      createdAt: toTime(row["created_at"]),
      sourceRunId: toText(row["source_run_id"]),
      attachments,
    });
  }
}

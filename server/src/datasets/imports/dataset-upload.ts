import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { readCsv } from "./csv.ts";
import { CsvColumns } from "./csv-columns.ts";
import type { Column } from "./csv-columns.ts";
import type { UploadFile } from "./upload-file.ts";
import { RequestError } from "../../model/errors.ts";
import { disableIdleTimeout } from "../../http/disable-idle-timeout.ts";
import { serverLimits } from "../../model/options.ts";
import { dataTypes } from "../dataset.ts";
import type { DatasetDraft } from "../dataset.ts";
import type { DatasetStore } from "../dataset-store.ts";
import type { UploadRow } from "./upload.ts";
import { toDatasetJson } from "../dataset-json.ts";
import { eraseDeletedDatasets } from "../dataset-handlers.ts";
import { parseOneOf } from "../dataset-query.ts";
import { receiveForm } from "./upload-form.ts";
import type { UploadForm } from "./upload-form.ts";

type FormFields = UploadForm["fields"];

/** `POST /datasets/upload`: creates a dataset from a CSV file. Clients can see the dataset only when it is complete. */
export async function uploadDataset(
  { store, folder }: { readonly store: DatasetStore; readonly folder: string },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { tenantId } = request;
  const form = await receiveForm(request.raw, folder);
  disableIdleTimeout(request, reply);
  try {
    const draft = parseDraft(form);
    await store.write.uploads.begin(tenantId, draft);
    try {
      for await (const rows of groupRows(readRows(form.file, form.fields))) {
        await store.write.uploads.extend(tenantId, draft.id, rows);
      }
      await store.write.uploads.end(tenantId, draft.id);
    } catch (cause) {
      await store.write.uploads.drop(tenantId, draft.id);
      await eraseDeletedDatasets(store);
      throw cause;
    }
    const dataset = await store.read.datasets.find(tenantId, draft.id);
    return dataset === undefined ? { id: draft.id } : toDatasetJson(dataset);
  } finally {
    await form.file.close();
  }
}

function parseDraft({ fields, fileName, file }: UploadForm): DatasetDraft {
  const name = fields.get("name")?.[0] ?? "";
  if (file.isEmpty) {
    throw new RequestError(422, 'the part "file" is missing or empty; send the CSV file in it');
  }
  if (name === "" && fileName === "") {
    throw new RequestError(422, "name is missing, and the file has no name to use instead");
  }
  return {
    id: randomUUID(),
    createdMicros: Date.now() * 1_000,
    name: name === "" ? fileName : name,
    description: fields.get("description")?.[0] ?? null,
    dataType: parseOneOf(fields.get("data_type")?.[0] ?? "kv", dataTypes, "data_type"),
    inputsSchema: readObject(fields, "inputs_schema_definition") ?? null,
    outputsSchema: readObject(fields, "outputs_schema_definition") ?? null,
    transformations: readList(fields, "transformations") ?? null,
    extra: null,
    externallyManaged: false,
    baselineExperimentId: null,
  };
}

async function* readRows(
  file: UploadFile,
  fields: FormFields,
): AsyncGenerator<readonly UploadRow[]> {
  const choice = {
    inputs: readColumns(fields, "input_keys", "input_key_mappings"),
    outputs: readColumns(fields, "output_keys", "output_key_mappings"),
    metadata: readColumns(fields, "metadata_keys", "metadata_key_mappings"),
  };
  if (choice.inputs.length === 0) {
    throw new RequestError(422, "input_keys is missing: list the columns that are inputs");
  }
  let columns: CsvColumns | undefined;
  for await (const { rows, firstRow } of readCsv(file.read())) {
    const page: UploadRow[] = [];
    for (const [index, cells] of rows.entries()) {
      if (columns === undefined) {
        columns = new CsvColumns(cells, choice);
        continue;
      }
      const row = columns.toRow(cells, firstRow + index);
      if (row !== undefined) {
        page.push(row);
      }
    }
    yield page;
  }
}

/** Groups rows, so that each write stores many rows but does not take long. */
async function* groupRows(
  pages: AsyncIterable<readonly UploadRow[]>,
): AsyncGenerator<readonly UploadRow[]> {
  let group: UploadRow[] = [];
  let chars = 0;
  for await (const page of pages) {
    for (const row of page) {
      group.push(row);
      chars += row.inputs.length + (row.outputs?.length ?? 0) + row.metadata.length;
      if (group.length >= serverLimits.csvStepRows || chars >= serverLimits.csvStepChars) {
        yield group;
        group = [];
        chars = 0;
      }
    }
  }
  if (group.length > 0) {
    yield group;
  }
}

function readColumns(
  fields: FormFields,
  keysField: string,
  mappingsField: string,
): readonly Column[] {
  const newNames = readObject(fields, mappingsField) ?? {};
  return [...new Set(fields.get(keysField))].map((column) => {
    const member = Object.hasOwn(newNames, column) ? newNames[column] : column;
    if (typeof member !== "string") {
      throw new RequestError(422, `${mappingsField} must be a JSON object whose values are names`);
    }
    return { header: column, member };
  });
}

function readObject(
  fields: FormFields,
  name: string,
): Readonly<Record<string, unknown>> | undefined {
  const value = readJson(fields, name);
  if (
    value !== undefined &&
    (typeof value !== "object" || value === null || Array.isArray(value))
  ) {
    throw new RequestError(422, `${name} must be a JSON object`);
  }
  return value === undefined ? undefined : { ...value };
}

function readList(fields: FormFields, name: string): readonly unknown[] | undefined {
  const value = readJson(fields, name);
  if (value !== undefined && !Array.isArray(value)) {
    throw new RequestError(422, `${name} must be a JSON list`);
  }
  return value;
}

function readJson(fields: FormFields, name: string): unknown {
  const text = fields.get(name)?.[0] ?? "";
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    throw new RequestError(422, `${name} is not JSON`);
  }
}

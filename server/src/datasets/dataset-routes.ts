import type { Linked } from "../shares/signed-links.ts";
import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import type { Static } from "typebox";
import {
  exportDatasetCsv,
  exportDatasetJsonl,
  exportDatasetOpenAi,
} from "./imports/dataset-exports.ts";
import { indexBody, indexDataset, searchBody, searchDataset } from "./examples/example-search.ts";
import {
  countSharedExamples,
  listSharedExamples,
  readDatasetShare,
  readSharedDataset,
  shareDataset,
  unshareDataset,
} from "./dataset-sharing.ts";
import { uploadDataset } from "./imports/dataset-upload.ts";
import {
  createDataset,
  datasetBody,
  datasetPatchBody,
  deleteDataset,
  deleteDatasets,
  listDatasets,
  readDataset,
  updateDataset,
} from "./dataset-handlers.ts";
import type { DatasetBody, DatasetPatchBody } from "./dataset-handlers.ts";
import { route } from "../http/route.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { asOf, exampleFilters, paging } from "../http/query-docs.ts";

const tag = "datasets";

/** Datasets: what they are, who may read them, how they leave. */
export function addDatasetRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(endpoints.listDatasets, {
      tag,
      summary: "Datasets, the one with the latest experiment first.",
      query: {
        id: "Ids, any of which it has; may be repeated.",
        name: "Its name.",
        name_contains: "Part of its name, in either case.",
        data_type: "kv, llm or chat; may be repeated.",
        metadata: "JSON object whose entries its metadata has.",
        sort_by:
          "name, created_at, last_session_start_time, example_count, session_count or modified_at.",
        sort_by_desc: "true, as where it is left out, or false.",
        ...paging,
      },
    }),
    handler: (request) => listDatasets(store, request),
  });
  app.route({
    ...route(endpoints.readDataset, { tag, summary: "One dataset." }),
    handler: (request) => readDataset(store, request),
  });
  app.route<{ Body: DatasetBody }>({
    ...route(endpoints.createDataset, {
      tag,
      summary: "Makes a dataset; 409 where the name is taken.",
      body: datasetBody,
    }),
    handler: (request) => createDataset(store, request.body, request),
  });
  app.route<{ Body: DatasetPatchBody }>({
    ...route(endpoints.updateDataset, {
      tag,
      summary:
        "Changes what is given; a schema that is null goes. 422 where examples do not fit a new schema.",
      body: datasetPatchBody,
    }),
    handler: (request, reply) => updateDataset(store, request.body, { request, reply }),
  });
  app.route({
    ...route(endpoints.deleteDataset, {
      tag,
      summary: "Deletes a dataset, its examples and its versions.",
    }),
    handler: (request, reply) => deleteDataset(store, request, reply),
  });
  app.route({
    ...route(endpoints.deleteDatasets, {
      tag,
      summary: "Deletes those of the datasets that are there.",
      query: { dataset_ids: "Ids; may be repeated." },
    }),
    handler: (request, reply) => deleteDatasets(store, request, reply),
  });
  addShareRoutes(app, store);
  addExportRoutes(app, store);
}

function addShareRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(endpoints.readDatasetShare, { tag, summary: "The dataset's share, or null." }),
    handler: (request, reply) => readDatasetShare(store, request, reply),
  });
  app.route({
    ...route(endpoints.shareDataset, {
      tag,
      summary: "Lets anyone who has the token read the dataset and its examples.",
    }),
    handler: (request) => shareDataset(store, request),
  });
  app.route({
    ...route(endpoints.unshareDataset, { tag, summary: "Ends the share." }),
    handler: (request) => unshareDataset(store, request),
  });
}

const exported = { ...asOf, splits: "Splits, any of which an example is in; may be repeated." };

function addExportRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(endpoints.exportDatasetOpenAi, {
      tag,
      summary:
        "Lines for fine-tuning: {messages} of inputs and outputs. 422 names an example without such a form.",
      query: exported,
    }),
    handler: (request, reply) => exportDatasetOpenAi(store, request, reply),
  });
  app.route({
    ...route(endpoints.exportDatasetCsv, {
      tag,
      summary: "CSV: a column for each member of the inputs and of the outputs.",
      query: exported,
    }),
    handler: (request, reply) => exportDatasetCsv(store, request, reply),
  });
  app.route({
    ...route(endpoints.exportDatasetJsonl, {
      tag,
      summary: "A line of JSON for each example.",
      query: exported,
    }),
    handler: (request, reply) => exportDatasetJsonl(store, request, reply),
  });
}

/** Search, and experiments side by side. */
export function addDatasetSearchRoutes(
  app: FastifyInstance,
  dependencies: Linked<DatasetStore>,
): void {
  app.route<{ Body: Static<typeof indexBody> | undefined }>({
    ...route(endpoints.indexDataset, {
      tag,
      summary: "Indexes the inputs of a version; latest is followed from then on.",
      body: indexBody,
    }),
    handler: (request, reply) => indexDataset(dependencies.store, request, reply),
  });
  app.route<{ Body: Static<typeof searchBody> }>({
    ...route(endpoints.searchDataset, {
      tag,
      summary: "Examples with like inputs, the nearest first; 400 where it is not indexed.",
      body: searchBody,
    }),
    handler: (request, reply) => searchDataset(dependencies, request.body, { request, reply }),
  });
}

/** What reads its body itself, as it arrives. */
export function addUploadRoutes(
  app: FastifyInstance,
  dependencies: { readonly store: DatasetStore; readonly folder: string },
): void {
  app.route({
    ...route(endpoints.uploadDataset, {
      tag,
      summary:
        "Makes a dataset of a CSV file: form with file, input_keys, output_keys, metadata_keys, name, description, data_type.",
    }),
    handler: (request, reply) => uploadDataset(dependencies, request, reply),
  });
}

/** What needs no key. */
export function addSharedDatasetRoutes(
  app: FastifyInstance,
  dependencies: Linked<DatasetStore>,
): void {
  app.route({
    ...route(endpoints.readSharedDataset, { tag, summary: "A shared dataset.", keyless: true }),
    handler: (request) => readSharedDataset(dependencies.store, request),
  });
  app.route({
    ...route(endpoints.listSharedExamples, {
      tag,
      summary: "Examples of a shared dataset.",
      query: exampleFilters,
      keyless: true,
    }),
    handler: (request, reply) => listSharedExamples(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.countSharedExamples, {
      tag,
      summary: "How many there are.",
      query: exampleFilters,
      keyless: true,
    }),
    handler: (request) => countSharedExamples(dependencies, request),
  });
}

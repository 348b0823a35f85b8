import { scopeToRequest } from "../http/request-scope.ts";
import type { WithLinks } from "../http/signed-links.ts";
import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import type { Static } from "typebox";
import {
  exportDatasetCsv,
  exportDatasetJsonl,
  exportDatasetOpenAi,
} from "./imports/dataset-exports.ts";
import {
  indexBody,
  indexDataset,
  searchBody,
  searchDataset,
} from "./examples/search/example-search.ts";
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
import { versionParameter, exampleParameters, pagingParameters } from "../http/query-docs.ts";
import {
  csvText,
  datasetIndexSchema,
  datasetListSchema,
  datasetSchema,
  datasetShareSchema,
  datasetUploadSchema,
  deletedDatasetsSchema,
  jsonLines,
  maybeDatasetShareSchema,
  sharedDatasetSchema,
  unsharedDatasetSchema,
} from "./dataset-schemas.ts";
import {
  exampleCountSchema,
  exampleListSchema,
  foundExamplesSchema,
} from "./examples/example-schemas.ts";
import { Deleted } from "../http/schema-parts.ts";

const apiTag = "datasets";

/** Routes to manage, share and export datasets. */
export function addDatasetRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(endpoints.listDatasets, {
      tag: apiTag,
      summary: "Lists datasets, by default the one with the latest experiment first.",
      query: {
        id: "Dataset id; may be repeated.",
        name: "Exact name.",
        name_contains: "Part of the name, case-insensitive.",
        data_type: "kv, llm or chat; may be repeated.",
        metadata: "JSON object; the metadata must contain all of its entries.",
        sort_by:
          "name, created_at, last_session_start_time, example_count, session_count or modified_at.",
        sort_by_desc: "true (the default) or false.",
        ...pagingParameters,
      },
      response: datasetListSchema,
    }),
    handler: (request) => listDatasets(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.readDataset, {
      tag: apiTag,
      summary: "Reads a dataset.",
      response: datasetSchema,
    }),
    handler: (request) => readDataset(store.forRequest(request), request),
  });
  app.route<{ Body: DatasetBody }>({
    ...route(endpoints.createDataset, {
      tag: apiTag,
      summary: "Creates a dataset; 409 if the name is taken.",
      body: datasetBody,
      response: datasetSchema,
    }),
    handler: (request) => createDataset(store.forRequest(request), request.body, request),
  });
  app.route<{ Body: DatasetPatchBody }>({
    ...route(endpoints.updateDataset, {
      tag: apiTag,
      summary:
        "Updates the given fields; null removes a schema. 422 if examples do not match a new schema.",
      body: datasetPatchBody,
      response: datasetSchema,
    }),
    handler: (request, reply) =>
      updateDataset(store.forRequest(request), request.body, { request, reply }),
  });
  app.route({
    ...route(endpoints.deleteDataset, {
      tag: apiTag,
      summary: "Deletes a dataset with its examples and versions.",
      response: Deleted,
    }),
    handler: (request, reply) => deleteDataset(store.forRequest(request), request, reply),
  });
  app.route({
    ...route(endpoints.deleteDatasets, {
      tag: apiTag,
      summary: "Deletes datasets; ids that do not exist are skipped.",
      query: { dataset_ids: "Dataset id; may be repeated." },
      response: deletedDatasetsSchema,
    }),
    handler: (request, reply) => deleteDatasets(store.forRequest(request), request, reply),
  });
  addShareRoutes(app, store);
  addExportRoutes(app, store);
}

function addShareRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(endpoints.readDatasetShare, {
      tag: apiTag,
      summary: "Reads the share of a dataset; null if it is not shared.",
      response: maybeDatasetShareSchema,
    }),
    handler: (request, reply) => readDatasetShare(store.forRequest(request), request, reply),
  });
  app.route({
    ...route(endpoints.shareDataset, {
      tag: apiTag,
      summary: "Shares a dataset: anyone who has the token can read it and its examples.",
      response: datasetShareSchema,
    }),
    handler: (request) => shareDataset(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.unshareDataset, {
      tag: apiTag,
      summary: "Stops sharing a dataset.",
      response: unsharedDatasetSchema,
    }),
    handler: (request) => unshareDataset(store.forRequest(request), request),
  });
}

const exportParameters = {
  ...versionParameter,
  splits: "Only examples in this split; repeat it to include several splits.",
};

function addExportRoutes(app: FastifyInstance, store: DatasetStore): void {
  app.route({
    ...route(endpoints.exportDatasetOpenAi, {
      tag: apiTag,
      summary:
        "Exports JSON Lines for OpenAI fine-tuning, one {messages} object per example. 422 if an example can't be converted.",
      query: exportParameters,
      response: { contents: jsonLines },
    }),
    handler: (request, reply) => exportDatasetOpenAi(store.forRequest(request), request, reply),
  });
  app.route({
    ...route(endpoints.exportDatasetCsv, {
      tag: apiTag,
      summary: "Exports CSV with a column for each member of the inputs and of the outputs.",
      query: exportParameters,
      response: { contents: csvText },
    }),
    handler: (request, reply) => exportDatasetCsv(store.forRequest(request), request, reply),
  });
  app.route({
    ...route(endpoints.exportDatasetJsonl, {
      tag: apiTag,
      summary: "Exports JSON Lines, one object per example.",
      query: exportParameters,
      response: { contents: jsonLines },
    }),
    handler: (request, reply) => exportDatasetJsonl(store.forRequest(request), request, reply),
  });
}

export function addDatasetSearchRoutes(
  app: FastifyInstance,
  dependencies: WithLinks<DatasetStore>,
): void {
  app.route<{ Body: Static<typeof indexBody> | undefined }>({
    ...route(endpoints.indexDataset, {
      tag: apiTag,
      summary:
        "Indexes the inputs of the examples in a version for search; with the tag latest, the index follows new versions.",
      body: indexBody,
      response: datasetIndexSchema,
    }),
    handler: (request, reply) =>
      indexDataset(dependencies.store.forRequest(request), request, reply),
  });
  app.route<{ Body: Static<typeof searchBody> }>({
    ...route(endpoints.searchDataset, {
      tag: apiTag,
      summary:
        "Finds examples with similar inputs, best match first; 400 if the dataset is not indexed.",
      body: searchBody,
      response: foundExamplesSchema,
    }),
    handler: (request, reply) =>
      searchDataset(scopeToRequest(dependencies, request), request.body, { request, reply }),
  });
}

/** Adds the upload route, whose handler reads the request body as a stream. */
export function addUploadRoutes(
  app: FastifyInstance,
  dependencies: { readonly store: DatasetStore; readonly folder: string },
): void {
  app.route({
    ...route(endpoints.uploadDataset, {
      tag: apiTag,
      summary:
        "Creates a dataset from a CSV file. Form fields: file, input_keys, output_keys, metadata_keys, name, description, data_type.",
      bodyContents: { "multipart/form-data": datasetUploadSchema },
      response: datasetSchema,
    }),
    handler: (request, reply) =>
      uploadDataset(scopeToRequest(dependencies, request), request, reply),
  });
}

/** Routes of shared datasets, which need no API key. */
export function addSharedDatasetRoutes(
  app: FastifyInstance,
  dependencies: WithLinks<DatasetStore>,
): void {
  app.route({
    ...route(endpoints.readSharedDataset, {
      tag: apiTag,
      summary: "Reads a shared dataset.",
      isPublic: true,
      response: sharedDatasetSchema,
    }),
    handler: (request) => readSharedDataset(dependencies.store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.listSharedExamples, {
      tag: apiTag,
      summary: "Lists the examples of a shared dataset.",
      query: exampleParameters,
      isPublic: true,
      response: exampleListSchema,
    }),
    handler: (request, reply) =>
      listSharedExamples(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.countSharedExamples, {
      tag: apiTag,
      summary: "Counts the examples of a shared dataset.",
      query: exampleParameters,
      isPublic: true,
      response: exampleCountSchema,
    }),
    handler: (request) => countSharedExamples(scopeToRequest(dependencies, request), request),
  });
}

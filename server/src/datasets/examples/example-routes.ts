import { scopeToRequest } from "../../http/request-scope.ts";
import type { WithLinks } from "../../http/signed-links.ts";
import type { DatasetStore } from "../dataset-store.ts";
import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import type { Static } from "typebox";
import {
  countExamples,
  deleteExample,
  deleteExamples,
  listExamples,
  readExample,
  deletionBody,
  removeExamples,
} from "./example-handlers.ts";
import {
  createExample,
  checkExamples,
  createExamples,
  updateExample,
  updateExamples,
  updateExamplesFromForm,
  uploadExamples,
} from "./example-write-handlers.ts";
import type { ExampleWriteDependencies } from "./example-write-handlers.ts";
import { route } from "../../http/route.ts";
import { versionParameter, exampleParameters } from "../../http/query-docs.ts";
import {
  checkedExamplesSchema,
  createdExamplesSchema,
  deletedExamplesSchema,
  exampleChangeSchema,
  exampleChangesSchema,
  exampleCountSchema,
  exampleListSchema,
  examplePartsSchema,
  exampleSchema,
  rejectedExamplesSchema,
  sentExampleSchema,
  sentExamplesSchema,
  writtenExamplesSchema,
} from "./example-schemas.ts";
import { Deleted } from "../../http/schema-parts.ts";

const apiTag = "examples";
const datasetParameter = { dataset: "Dataset id; required if no example ids are passed." };

/** Routes that read and delete examples. */
export function addExampleRoutes(
  app: FastifyInstance,
  dependencies: WithLinks<DatasetStore>,
): void {
  app.route({
    ...route(endpoints.listExamples, {
      tag: apiTag,
      summary:
        "Lists examples, by default the last written first; examples of one write keep their order.",
      query: { ...datasetParameter, ...exampleParameters },
      response: exampleListSchema,
    }),
    handler: (request, reply) =>
      listExamples(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.countExamples, {
      tag: apiTag,
      summary: "Counts examples.",
      query: { ...datasetParameter, ...exampleParameters },
      response: exampleCountSchema,
    }),
    handler: (request) => countExamples(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(endpoints.readExample, {
      tag: apiTag,
      summary: "Reads an example.",
      query: { ...versionParameter, dataset: "Id of its dataset; required if as_of is a tag." },
      response: exampleSchema,
    }),
    handler: (request, reply) => readExample(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.deleteExample, {
      tag: apiTag,
      summary: "Deletes an example; earlier versions keep it.",
      response: Deleted,
    }),
    handler: (request) => deleteExample(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(endpoints.deleteExamples, {
      tag: apiTag,
      summary:
        "Deletes examples; ids that do not exist are skipped, and earlier versions keep the examples.",
      query: { example_ids: "Example id; may be repeated." },
      response: deletedExamplesSchema,
    }),
    handler: (request, reply) =>
      deleteExamples(scopeToRequest(dependencies, request), request, reply),
  });
  app.route<{ Body: Static<typeof deletionBody> }>({
    ...route(endpoints.removeExamples, {
      tag: apiTag,
      summary:
        "Deletes examples; ids that do not exist are skipped. hard_delete also removes them from earlier versions.",
      body: deletionBody,
      response: deletedExamplesSchema,
    }),
    handler: (request, reply) =>
      removeExamples(scopeToRequest(dependencies, request), request.body, { request, reply }),
  });
}

/**
 * Routes that write examples. The handlers read the body themselves, because payloads are stored exactly as they were
 * sent.
 */
export function addExampleWriteRoutes(
  app: FastifyInstance,
  dependencies: ExampleWriteDependencies,
): void {
  app.route({
    ...route(endpoints.createExample, {
      tag: apiTag,
      summary: "Creates an example.",
      bodyContents: { "application/json": sentExampleSchema },
      response: exampleSchema,
    }),
    handler: (request, reply) =>
      createExample(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.createExamples, {
      tag: apiTag,
      summary: "Creates a list of examples and returns them; all or none are stored.",
      bodyContents: { "application/json": sentExamplesSchema },
      response: exampleListSchema,
    }),
    handler: (request, reply) =>
      createExamples(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.updateExample, {
      tag: apiTag,
      summary: "Updates the given fields of an example.",
      bodyContents: { "application/json": exampleChangeSchema },
      response: exampleSchema,
    }),
    handler: (request, reply) =>
      updateExample(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.updateExamples, {
      tag: apiTag,
      summary: "Updates a list of examples; all or none are changed.",
      bodyContents: { "application/json": exampleChangesSchema },
      response: writtenExamplesSchema,
    }),
    handler: (request, reply) =>
      updateExamples(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.uploadExamples, {
      tag: apiTag,
      summary: "Creates examples with attachments from a multipart form.",
      bodyContents: { "multipart/form-data": examplePartsSchema },
      otherResponses: { 201: createdExamplesSchema },
    }),
    handler: (request, reply) =>
      uploadExamples(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.checkExamples, {
      tag: apiTag,
      summary:
        "Validates a list of examples against the dataset's schemas; returns the invalid ones by id and stores nothing.",
      bodyContents: { "application/json": checkedExamplesSchema },
      response: rejectedExamplesSchema,
    }),
    handler: (request, reply) =>
      checkExamples(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(endpoints.updateUploadedExamples, {
      tag: apiTag,
      summary: "Updates examples and their attachments from a multipart form.",
      bodyContents: { "multipart/form-data": examplePartsSchema },
      otherResponses: { 201: writtenExamplesSchema },
    }),
    handler: (request, reply) =>
      updateExamplesFromForm(scopeToRequest(dependencies, request), request, reply),
  });
}

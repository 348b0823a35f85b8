import type { Linked } from "../../shares/signed-links.ts";
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
  removalBody,
  removeExamples,
} from "./example-handlers.ts";
import {
  createExample,
  checkExamples,
  createExamples,
  updateExample,
  updateExamples,
  updateUploadedExamples,
  uploadExamples,
} from "./example-write-handlers.ts";
import type { ExampleWriteDependencies } from "./example-write-handlers.ts";
import { route } from "../../http/route.ts";
import { asOf, exampleFilters } from "../../http/query-docs.ts";

const tag = "examples";
const dataset = { dataset: "The dataset; needed where no ids are given." };

/** Examples: what datasets are made of. */
export function addExampleRoutes(app: FastifyInstance, dependencies: Linked<DatasetStore>): void {
  app.route({
    ...route(endpoints.listExamples, {
      tag,
      summary: "Examples, the last written first; those of one write in their order.",
      query: { ...dataset, ...exampleFilters },
    }),
    handler: (request, reply) => listExamples(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.countExamples, {
      tag,
      summary: "How many there are.",
      query: { ...dataset, ...exampleFilters },
    }),
    handler: (request) => countExamples(dependencies, request),
  });
  app.route({
    ...route(endpoints.readExample, {
      tag,
      summary: "One example.",
      query: { ...asOf, dataset: "Its dataset, whose tags as_of names." },
    }),
    handler: (request, reply) => readExample(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.deleteExample, {
      tag,
      summary: "Deletes an example; earlier versions still have it.",
    }),
    handler: (request) => deleteExample(dependencies, request),
  });
  app.route({
    ...route(endpoints.deleteExamples, {
      tag,
      summary: "Deletes those of the examples that are there; earlier versions still have them.",
      query: { example_ids: "Ids; may be repeated." },
    }),
    handler: (request, reply) => deleteExamples(dependencies, request, reply),
  });
  app.route<{ Body: Static<typeof removalBody> }>({
    ...route(endpoints.removeExamples, {
      tag,
      summary: "Deletes those of the examples that are there; hard_delete: from every version.",
      body: removalBody,
    }),
    handler: (request, reply) => removeExamples(dependencies, request.body, { request, reply }),
  });
}

/** What takes examples in. The handlers read the body themselves: payloads are stored as they came. */
export function addExampleWriteRoutes(
  app: FastifyInstance,
  dependencies: ExampleWriteDependencies,
): void {
  app.route({
    ...route(endpoints.createExample, { tag, summary: "Makes an example." }),
    handler: (request, reply) => createExample(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.createExamples, {
      tag,
      summary: "Makes examples, a list in and a list out; all of them, or none.",
    }),
    handler: (request, reply) => createExamples(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.updateExample, { tag, summary: "Changes what is given." }),
    handler: (request, reply) => updateExample(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.updateExamples, {
      tag,
      summary: "Changes what is given, of a list of examples; all of them, or none.",
    }),
    handler: (request, reply) => updateExamples(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.uploadExamples, {
      tag,
      summary: "Makes examples with attachments, as parts of a form.",
    }),
    handler: (request, reply) => uploadExamples(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.checkExamples, {
      tag,
      summary: "Says which examples of a list the dataset's schemas refuse, by id; makes none.",
    }),
    handler: (request, reply) => checkExamples(dependencies, request, reply),
  });
  app.route({
    ...route(endpoints.updateUploadedExamples, {
      tag,
      summary: "Changes examples and their attachments, as parts of a form.",
    }),
    handler: (request, reply) => updateUploadedExamples(dependencies, request, reply),
  });
}

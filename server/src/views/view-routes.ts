import type { RequestScoped } from "../http/request-scope.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { endpoints } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import { runFields } from "../filter/fields.ts";
import { readFilter } from "../filter/filter-parameter.ts";
import { parseId, parsePage } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import { route } from "../http/route.ts";
import { Deleted, Id, IsoTime, List, Maybe, Text, TextOrNull } from "../http/schema-parts.ts";
import { toIso } from "../http/wire-text.ts";
import type { View, ViewFields, ViewKey, ViewReads, ViewWrites } from "./view-repository.ts";

/** The part of the store that the handlers of views use. */
export interface ViewStore extends RequestScoped<ViewStore> {
  readonly read: { readonly views: ViewReads };
  readonly write: { readonly views: ViewWrites };
}

const nameSchema = Type.String({ minLength: 1, maxLength: 1_000 });
/** A longer filter would not fit into the URL of the UI. */
const filterSchema = Maybe(Type.String({ maxLength: 8_000 }));
const viewMembers = {
  description: Maybe(Type.String({ maxLength: 10_000 })),
  filter_string: filterSchema,
  trace_filter_string: filterSchema,
  tree_filter_string: filterSchema,
  list_query: Maybe(Type.String({ maxLength: 1_000 })),
};

/** Body of `POST /sessions/{id}/views`. Unknown members are ignored. */
const viewBody = Type.Object({ ...viewMembers, display_name: nameSchema });
/** Body of `PATCH /sessions/{id}/views/{viewId}`. Null leaves a field unchanged, an empty text removes its value. */
const viewPatchBody = Type.Object({ ...viewMembers, display_name: Maybe(nameSchema) });

type ViewBody = Static<typeof viewBody>;
type ViewPatchBody = Static<typeof viewPatchBody>;

const viewSchema = Type.Object(
  {
    id: Id,
    session_id: Id,
    display_name: Text,
    description: TextOrNull,
    filter_string: TextOrNull,
    trace_filter_string: TextOrNull,
    tree_filter_string: TextOrNull,
    list_query: TextOrNull,
    created_at: IsoTime,
    updated_at: IsoTime,
  },
  { title: "View" },
);

const apiTag = "projects";

/** Adds the routes of views, which are saved filters of a project's runs. */
export function addViewRoutes(app: FastifyInstance, store: ViewStore): void {
  app.route({
    ...route(endpoints.listViews, {
      tag: apiTag,
      summary: "Lists the views of a project by name.",
      query: {
        limit: "Maximum number of items; default 100.",
        offset: "Number of items to skip.",
      },
      response: List(viewSchema),
    }),
    handler: async (request) => {
      const page = parsePage(request.query as QueryString);
      const views = await store
        .forRequest(request)
        .read.views.list(request.tenantId, readProjectId(request), page);
      return views.map(toJson);
    },
  });
  app.route<{ Body: ViewBody }>({
    ...route(endpoints.createView, {
      tag: apiTag,
      summary: "Creates a view of a project: a name for a filter of its runs.",
      body: viewBody,
      response: viewSchema,
    }),
    handler: async (request) => {
      const { display_name } = request.body;
      const draft = { name: display_name, fields: { ...noFields, ...readFields(request.body) } };
      return toJson(
        await store
          .forRequest(request)
          .write.views.create(request.tenantId, readProjectId(request), draft),
      );
    },
  });
  app.route({
    ...route(endpoints.readView, { tag: apiTag, summary: "Reads a view.", response: viewSchema }),
    handler: async (request) =>
      toJson(
        await store.forRequest(request).read.views.find(request.tenantId, readViewKey(request)),
      ),
  });
  app.route<{ Body: ViewPatchBody }>({
    ...route(endpoints.updateView, {
      tag: apiTag,
      summary: "Updates the given fields of a view; null leaves a field unchanged.",
      body: viewPatchBody,
      response: viewSchema,
    }),
    handler: async (request) => {
      const { display_name } = request.body;
      const changes = {
        ...(typeof display_name === "string" ? { name: display_name } : {}),
        fields: readFields(request.body),
      };
      return toJson(
        await store
          .forRequest(request)
          .write.views.update(request.tenantId, readViewKey(request), changes),
      );
    },
  });
  app.route({
    ...route(endpoints.deleteView, { tag: apiTag, summary: "Deletes a view.", response: Deleted }),
    handler: async (request) => {
      const key = readViewKey(request);
      await store.forRequest(request).write.views.delete(request.tenantId, key);
      return { id: key.id };
    },
  });
}

const noFields: ViewFields = {
  description: null,
  filter: null,
  traceFilter: null,
  treeFilter: null,
  listQuery: null,
};

/**
 * Reads those fields of a view that the body sets.
 *
 * @throws RequestError 422: a filter is invalid.
 */
function readFields(body: Omit<ViewPatchBody, "display_name">): Partial<ViewFields> {
  const texts = {
    filter: checkFilter("filter_string", body.filter_string),
    traceFilter: checkFilter("trace_filter_string", body.trace_filter_string),
    treeFilter: checkFilter("tree_filter_string", body.tree_filter_string),
    description: body.description,
    listQuery: body.list_query,
  };
  const textEntries = Object.entries(texts).filter(([, text]) => typeof text === "string");
  return Object.fromEntries(
    textEntries.map(([member, text]) => [member, text === "" ? null : text]),
  );
}

function checkFilter(parameter: string, text: string | null | undefined) {
  readFilter(runFields, parameter, text);
  return text;
}

const readParameters = (request: FastifyRequest) =>
  request.params as { readonly id: string; readonly viewId: string };
const readProjectId = (request: FastifyRequest): string =>
  parseId(readParameters(request).id, "session id");
const readViewKey = (request: FastifyRequest): ViewKey => ({
  projectId: readProjectId(request),
  id: parseId(readParameters(request).viewId, "view id"),
});

const toJson = ({ id, projectId, name: displayName, fields: values, ...times }: View) => ({
  id,
  session_id: projectId,
  display_name: displayName,
  description: values.description,
  filter_string: values.filter,
  trace_filter_string: values.traceFilter,
  tree_filter_string: values.treeFilter,
  list_query: values.listQuery,
  created_at: toIso(times.createdMicros),
  updated_at: toIso(times.modifiedMicros),
});

import { endpoints, uiEndpoints } from "millrace/model";
import type { Endpoint, KeyScope } from "millrace/model";
import { Type } from "typebox";
import type { TSchema } from "typebox";
import { auditOf } from "./endpoint-audit.ts";
import type { AuditedAction } from "./endpoint-audit.ts";
import { scopeOf } from "./endpoint-scope.ts";
import { linkEndpoints } from "./link-endpoints.ts";
import { errorSchema } from "./schema-parts.ts";
import { monitoringEndpoints } from "./monitoring-endpoints.ts";
import { v2Endpoints } from "./v2-endpoints.ts";

/** Groups of endpoints in the API documentation. */
export const tags = {
  runs: "Creating and querying runs.",
  spans: "Receiving OpenTelemetry spans as runs.",
  projects: "Projects, which contain runs. An experiment is a project over a dataset.",
  feedback: "Scores and comments on runs and projects, and tokens to submit them without a key.",
  datasets: "Datasets, their versions, splits, shares and exports.",
  examples: "The examples of datasets.",
  experiments: "Comparing experiments over one dataset.",
  "annotation queues": "Queues of runs that wait for review.",
  prompts: "Prompts, their commits, tags and likes.",
  server: "The server itself, and the tenant of the request.",
} as const;

export type Tag = keyof typeof tags;

/** Schemas by content type. */
export type ContentSchemas = Readonly<Record<string, TSchema>>;

/** The schemas of a body that is not JSON, or that can have one of several content types. */
export interface Contents {
  readonly contents: ContentSchemas;
}

/** A response: the schema of its JSON, its schemas by content type, or null if it has no body. */
export type ResponseSchema = TSchema | Contents | null;

/** The part of a route's description in /openapi.json that Fastify does not use. */
export interface OperationDocs {
  readonly bodyContents?: ContentSchemas | undefined;
  /** Responses by status. `default` is the response to errors. */
  readonly responses: Readonly<Record<string, ResponseSchema>>;
}

declare module "fastify" {
  interface FastifyContextConfig {
    readonly docs?: OperationDocs;
    /** The scope that the key of a request needs. */
    readonly scope?: KeyScope;
    /** The action that the audit log records; `undefined` if the route is not audited. */
    readonly audit?: AuditedAction | undefined;
    /** Whether the rate limit of the tenant does not apply, as for requests of programs that monitor the server. */
    readonly isUnlimited?: boolean;
    /** Whether requests store runs. The tenant's limit on the number of runs applies to them. */
    readonly storesRuns?: boolean;
  }
}

/** The description of an endpoint in /openapi.json, in addition to its method and path. */
export interface RouteDocs<Body extends TSchema = TSchema> {
  readonly tag: Tag;
  /** Describes the endpoint in one sentence. */
  readonly summary: string;
  /** Query parameters with their descriptions. They arrive as text, which the handler parses. */
  readonly query?: Readonly<Record<string, string>>;
  /** The schema of the body, which is checked before the handler runs. An invalid body results in status 422. */
  readonly body?: Body;
  /**
   * Schemas of the body by content type, for a handler that reads the body itself. They are only documentation: the
   * body is not checked against them.
   */
  readonly bodyContents?: ContentSchemas;
  /** The response with status 200: the schema of its JSON, or its schemas by content type. */
  readonly response?: TSchema | Contents;
  /** Responses with other statuses. Errors are described for all routes and need not be listed. */
  readonly otherResponses?: Readonly<Record<number, ResponseSchema>>;
  /** The content of errors, if it is not an object with the member `detail`. */
  readonly errors?: Contents;
  /**
   * How an object that the handler returns is serialized: by default from its schema. With `"json"`, by
   * `JSON.stringify`; the schema is then only documentation.
   */
  readonly writer?: "schema" | "json";
  /** Whether the endpoint needs no access key. */
  readonly isPublic?: true;
}

const operationIds = new Map<Endpoint, string>(
  Object.entries({
    ...endpoints,
    ...uiEndpoints,
    ...v2Endpoints,
    ...linkEndpoints,
    ...monitoringEndpoints,
  }).map(([name, endpoint]) => [endpoint, name]),
);

const storingEndpoints: readonly Endpoint[] = [
  endpoints.createRun,
  endpoints.sendBatch,
  endpoints.sendMultipart,
  endpoints.sendSpans,
];

/** Creates the method, path and schema of an endpoint for Fastify. /openapi.json is generated from the schema. */
export const route = <Body extends TSchema>(endpoint: Endpoint, docs: RouteDocs<Body>) => {
  const { tag, summary, query, body, isPublic } = docs;
  const responses = createResponses(docs);
  return {
    method: endpoint.method,
    url: endpoint.path,
    config: {
      scope: scopeOf(endpoint),
      audit: auditOf(endpoint),
      storesRuns: storingEndpoints.includes(endpoint),
      isUnlimited: endpoint === monitoringEndpoints.readServerMetrics,
      docs: {
        bodyContents: docs.bodyContents,
        responses: { ...responses, default: docs.errors ?? errorSchema },
      },
    },
    schema: {
      operationId: operationIds.get(endpoint) ?? summary,
      tags: [tag],
      summary,
      // Endpoints of the UI are not part of the documented API.
      ...(endpoint.path.startsWith("/ui/") ? { hide: true } : {}),
      ...(isPublic === undefined ? {} : { security: [] }),
      ...(query === undefined ? {} : { querystring: createQuerySchema(query) }),
      ...(body === undefined ? {} : { body }),
      ...(docs.writer === "json" ? {} : { response: selectJsonSchemas(responses) }),
    },
  };
};

const createResponses = ({
  response,
  otherResponses,
}: RouteDocs): Readonly<Record<string, ResponseSchema>> => ({
  ...(response === undefined ? {} : { 200: response }),
  ...otherResponses,
});

/** Returns the schemas from which Fastify writes JSON, by status. */
const selectJsonSchemas = (
  responses: Readonly<Record<string, ResponseSchema>>,
): Readonly<Record<string, TSchema>> =>
  Object.fromEntries(
    Object.entries(responses).filter(
      (entry): entry is [string, TSchema] => entry[1] !== null && !isContents(entry[1]),
    ),
  );

/** Whether a response is described by a schema for each of its content types. */
export const isContents = (response: ResponseSchema): response is Contents =>
  response !== null && "contents" in response;

const createQuerySchema = (query: Readonly<Record<string, string>>) =>
  Type.Object(
    Object.fromEntries(
      Object.entries(query).map(([name, description]) => [
        name,
        Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())], { description })),
      ]),
    ),
  );

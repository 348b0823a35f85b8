import { endpoints, uiEndpoints } from "millrace/model";
import type { Endpoint } from "millrace/model";
import { Type } from "typebox";
import type { TSchema } from "typebox";
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

/** The description of an endpoint in /openapi.json, in addition to its method and path. */
export interface RouteDocs<Body extends TSchema = TSchema> {
  readonly tag: Tag;
  /** One sentence. */
  readonly summary: string;
  /** Query parameters with their descriptions. They arrive as text; the handler parses them. */
  readonly query?: Readonly<Record<string, string>>;
  /** Checked before the handler runs. An invalid body results in status 422. */
  readonly body?: Body;
  /** Schema of the response with status 200. For documentation only. */
  readonly answer?: TSchema;
  /** Whether the endpoint needs no access key. */
  readonly keyless?: true;
}

const operationIds = new Map<Endpoint, string>(
  Object.entries({ ...endpoints, ...uiEndpoints, ...v2Endpoints }).map(([name, endpoint]) => [
    endpoint,
    name,
  ]),
);

/** Returns method, path and schema of an endpoint for Fastify. /openapi.json is generated from the schema. */
export const route = <Body extends TSchema>(
  endpoint: Endpoint,
  { tag, summary, query, body, answer, keyless }: RouteDocs<Body>,
) => ({
  method: endpoint.method,
  url: endpoint.path,
  schema: {
    operationId: operationIds.get(endpoint) ?? summary,
    tags: [tag],
    summary,
    // Endpoints of the UI are not part of the documented API.
    ...(endpoint.path.startsWith("/ui/") ? { hide: true } : {}),
    ...(keyless === undefined ? {} : { security: [] }),
    ...(query === undefined ? {} : { querystring: querySchema(query) }),
    ...(body === undefined ? {} : { body }),
    ...(answer === undefined ? {} : { response: { 200: answer } }),
  },
});

const querySchema = (query: Readonly<Record<string, string>>) =>
  Type.Object(
    Object.fromEntries(
      Object.entries(query).map(([name, description]) => [
        name,
        Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())], { description })),
      ]),
    ),
  );

import { endpoints, uiEndpoints } from "millrace/model";
import type { Endpoint } from "millrace/model";
import { Type } from "typebox";
import type { TSchema } from "typebox";
import { v2Endpoints } from "./v2-endpoints.ts";

/** What calls are grouped by on the page of the API. */
export const tags = {
  runs: "Runs, taken in and given back.",
  spans: "OpenTelemetry's spans, taken in as runs.",
  projects: "What runs are filed under; an experiment is a project over a dataset.",
  feedback: "Scores and comments on runs and projects, and tokens to give them without a key.",
  datasets: "Datasets, their versions, splits, shares and exports.",
  examples: "What datasets are made of.",
  experiments: "Experiments over one dataset, side by side.",
  "annotation queues": "Runs that wait for a reviewer.",
  prompts: "Prompts, their commits, tags and likes.",
  server: "The server itself, and the tenant of whoever asks.",
} as const;

export type Tag = keyof typeof tags;

/** The description of a call in /openapi.json, besides its method and path. */
export interface RouteDocs<Body extends TSchema = TSchema> {
  readonly tag: Tag;
  /** One sentence. */
  readonly summary: string;
  /** Each query parameter, with what it does. They arrive as texts; the handler parses them. */
  readonly query?: Readonly<Record<string, string>>;
  /** Checked before the handler runs: 422 where the body does not fit. */
  readonly body?: Body;
  /** Of the 200 answer. Not enforced. */
  readonly answer?: TSchema;
  /** Whether it needs no key. */
  readonly keyless?: true;
}

const operationIds = new Map<Endpoint, string>(
  Object.entries({ ...endpoints, ...uiEndpoints, ...v2Endpoints }).map(([name, endpoint]) => [
    endpoint,
    name,
  ]),
);

/** Where a call is served, and the schema that /openapi.json is made of. */
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
    // The page's own calls come and go with it.
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

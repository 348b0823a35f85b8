import type { Endpoint } from "millrace/model";
import { Type } from "typebox";
import type { TSchema } from "typebox";

/** What calls are grouped by on the page of the API. */
export type Tag =
  | "annotation queues"
  | "datasets"
  | "examples"
  | "experiments"
  | "feedback"
  | "projects"
  | "prompts"
  | "runs"
  | "server"
  | "spans";

/** What /openapi.json says of a call, beside its method and path. */
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
  /** Whether it is open to whoever has no key. */
  readonly keyless?: true;
}

/** Where a call is served, and the schema that /openapi.json is made of. */
export const route = <Body extends TSchema>(
  { method, path }: Endpoint,
  { tag, summary, query, body, answer, keyless }: RouteDocs<Body>,
) => ({
  method,
  url: path,
  schema: {
    tags: [tag],
    summary,
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

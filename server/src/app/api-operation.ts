import { STATUS_CODES } from "node:http";
import { isDeepStrictEqual } from "node:util";
import type { FastifySchema } from "fastify";
import { isContents } from "../http/route.ts";
import type { ResponseSchema, ContentSchemas, OperationDocs } from "../http/route.ts";

const jsonType = "application/json";

/**
 * Completes the schema of a route for /openapi.json: adds all responses, and the schemas of the body if the handler
 * parses the body itself.
 */
export function describeOperation(
  schema: FastifySchema | undefined,
  docs: OperationDocs | undefined,
): FastifySchema {
  if (docs === undefined) {
    return { ...schema };
  }
  const { bodyContents, responses } = docs;
  return {
    ...schema,
    ...(bodyContents === undefined ? {} : { body: { content: toContent(bodyContents) } }),
    response: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [
        status,
        describeResponse(status, response),
      ]),
    ),
  };
}

function describeResponse(status: string, response: ResponseSchema) {
  const description = STATUS_CODES[status] ?? "Error";
  if (response === null) {
    return { description, type: "null" };
  }
  const contents = isContents(response) ? response.contents : { [jsonType]: response };
  return { description, content: toContent(contents) };
}

const toContent = (schemas: ContentSchemas) =>
  Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]));

interface ApiDocument {
  readonly components?: object;
  readonly paths?: object;
}

/** The members of an OpenAPI operation that {@link markOptionalBody} corrects in the generated document. */
interface Operation {
  readonly requestBody?: {
    required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema: BodySchema }>>;
  };
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

interface BodySchema {
  readonly anyOf?: readonly { readonly type?: string }[];
}

/**
 * Moves each schema that has a title to the components of the document, and replaces it by a reference. A schema is
 * then described once, however many operations use it.
 */
export function moveSchemasToComponents<Document extends ApiDocument>(
  document: Document,
): Document {
  const components = new Map<string, unknown>();
  const paths = replaceTitledSchemas(document.paths, components) as Paths;
  Object.values(paths)
    .flatMap(Object.values<Operation>)
    .forEach(markOptionalBody);
  const schemas = Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { ...document, paths, components: { ...document.components, schemas } };
}

function replaceTitledSchemas(value: unknown, components: Map<string, unknown>): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => replaceTitledSchemas(item, components));
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const { title, ...schemaWithoutTitle } = value as { readonly title?: unknown };
  const isNamed = typeof title === "string";
  const mappedSchema = Object.fromEntries(
    Object.entries(isNamed ? schemaWithoutTitle : value).map(([name, member]) => [
      name,
      replaceTitledSchemas(member, components),
    ]),
  );
  if (!isNamed) {
    return mappedSchema;
  }
  if (!isDeepStrictEqual(mappedSchema, components.get(title) ?? mappedSchema)) {
    throw new Error(`two schemas have the title ${title}`);
  }
  components.set(title, mappedSchema);
  return { $ref: `#/components/schemas/${title}` };
}

/** The generator marks every body as required, including those that may be absent, whose schemas include null. */
function markOptionalBody({ requestBody }: Operation): void {
  const schemas = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema);
  if (
    requestBody !== undefined &&
    schemas.some(({ anyOf }) => anyOf?.some(isNullSchema) === true)
  ) {
    requestBody.required = false;
  }
}

const isNullSchema = ({ type }: { readonly type?: string }): boolean => type === "null";

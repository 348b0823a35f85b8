import type BuildWriter from "fast-json-stringify";
import type { FastifyInstance, FastifySchema, FastifySerializerCompiler } from "fastify";

/** The keywords of a JSON schema that the schemas of responses use. */
interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: unknown;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

/** A schema for `fast-json-stringify`. For an empty schema, the value is written with `JSON.stringify`. */
interface WriterSchema {
  readonly type?: string | readonly string[];
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, WriterSchema>>;
  readonly additionalProperties?: true;
  readonly items?: WriterSchema;
}

let buildWriter: typeof BuildWriter | undefined;

/** Loads the library that writes responses. Must have resolved before the first of them is written. */
export async function loadWriterBuilder(): Promise<void> {
  buildWriter ??= (await import("fast-json-stringify")).default;
}

/**
 * Makes the application serialize responses according to their schemas. The library is loaded with the first response:
 * loading it takes a tenth of the time in which a server starts.
 */
export function addSerializers(app: FastifyInstance): void {
  app.setSerializerCompiler(createSerializerCompiler());
  app.addHook("preSerialization", async (_request, _reply, payload) => {
    if (buildWriter === undefined) {
      await loadWriterBuilder();
    }
    return payload;
  });
}

/**
 * Creates the serializers of responses from the schemas that also describe them in /openapi.json. Each schema is
 * compiled when it is first needed: there are about a hundred, and the server needs none of them to start.
 */
export function createSerializerCompiler(): FastifySerializerCompiler<FastifySchema> {
  return ({ schema }) => {
    let write: ((value: unknown) => string) | undefined;
    return (value: unknown) => {
      write ??= createWriter(schema as JsonSchema);
      return write(value);
    };
  };
}

function createWriter(schema: JsonSchema): (value: unknown) => string {
  if (buildWriter === undefined) {
    throw new Error("the library that writes responses is not loaded");
  }
  return buildWriter(toWriterSchema(schema)) as (value: unknown) => string;
}

/**
 * Reduces a schema to the keywords that determine how values are written. With the complete schema,
 * `fast-json-stringify` would truncate a fractional number where the schema requires an integer, validate the value of
 * each union, and copy the members of an object one by one if the schema does not name them. For such unions and
 * objects, `JSON.stringify` is used: it writes the same text faster.
 */
function toWriterSchema({ anyOf, ...schema }: JsonSchema): WriterSchema {
  if (anyOf !== undefined) {
    return toWriterSchemaOfUnion(anyOf.map(toWriterSchema));
  }
  switch (schema.type) {
    case "object":
      return toWriterSchemaOfObject(schema);
    case "array":
      return schema.items === undefined
        ? {}
        : { type: "array", items: toWriterSchema(schema.items) };
    case "integer":
      return { type: "number" };
    case "string":
    case "number":
    case "boolean":
    case "null":
      return { type: schema.type };
    default:
      return {};
  }
}

/**
 * Converts the schema of an object without `required`: rows that older versions have stored can lack members, and a
 * response without such a member must not fail.
 */
function toWriterSchemaOfObject({ properties, additionalProperties }: JsonSchema): WriterSchema {
  if (properties === undefined) {
    return {};
  }
  return {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, toWriterSchema(schema)]),
    ),
    ...(additionalProperties === true ? { additionalProperties: true } : {}),
  };
}

function toWriterSchemaOfUnion(schemas: readonly WriterSchema[]): WriterSchema {
  const [schema, ...otherSchemas] = schemas.filter(({ type }) => type !== "null");
  const nullableKeyword = otherSchemas.length + 1 < schemas.length ? { nullable: true } : {};
  return schema === undefined || otherSchemas.length > 0
    ? nullableKeyword
    : { ...schema, ...nullableKeyword };
}

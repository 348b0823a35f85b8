// Extracts the JSON schemas of responses from an API description (OpenAPI), for tests that have a fake of the API: node
// scripts/response-schemas.mjs API.json 'GET /path' 'POST /path/{argument}' > cli/tests/fixtures/NAME-api.json
//
// The result contains the schema of each operation's response and the schemas to which it refers, without descriptions.
// The member `nullable`, which only OpenAPI has, becomes the type `null`.
import { readFileSync } from "node:fs";

const [, , source = "", ...operations] = process.argv;
const api = JSON.parse(readFileSync(source, "utf8"));
/** @type {Record<string, unknown>} */
const definitions = {};

/** Members of a schema that only serve documentation. */
const omitted = new Set(["description", "example", "examples", "title", "default", "deprecated"]);

/**
 * @param {any} schema
 * @returns {unknown}
 */
function convert(schema) {
  if (Array.isArray(schema)) {
    return schema.map(convert);
  }
  if (typeof schema !== "object" || schema === null) {
    return schema;
  }
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1);
    if (!(name in definitions)) {
      // Set before the conversion, because a schema may contain itself.
      definitions[name] = true;
      definitions[name] = convert(api.components.schemas[name]);
    }
    return addNull(schema, { $ref: `#/definitions/${name}` });
  }
  const { nullable: _nullable, discriminator: _discriminator, properties, ...rest } = schema;
  const members = Object.entries(rest)
    .filter(([name]) => !omitted.has(name))
    .map(([name, value]) => [
      name,
      name === "enum" || name === "required" ? value : convert(value),
    ]);
  return addNull(schema, {
    ...Object.fromEntries(members),
    ...(properties && {
      // A property may have the name of one of the omitted members.
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, value]) => [name, convert(value)]),
      ),
    }),
  });
}

/**
 * @param {any} schema
 * @param {object} converted
 */
const addNull = ({ nullable }, converted) =>
  nullable === true ? { anyOf: [converted, { type: "null" }] } : converted;

const responses = Object.fromEntries(
  operations.map((operation) => {
    const [method = "", path = ""] = operation.split(" ");
    const { content } = api.paths[path][method.toLowerCase()].responses["200"];
    return [operation, convert(content["application/json"].schema)];
  }),
);
const toSortedLines = (/** @type {Record<string, unknown>} */ entries) =>
  Object.keys(entries)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}: ${JSON.stringify(entries[name])}`)
    .join(",\n");
process.stdout.write(
  `{\n"responses": {\n${toSortedLines(responses)}\n},\n"definitions": {\n${toSortedLines(definitions)}\n}\n}\n`,
);

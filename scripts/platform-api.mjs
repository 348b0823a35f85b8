// Condenses the platform's API description (OpenAPI) for tests:
// node scripts/platform-api.mjs ../shared/spec/openapi-subset.json > tests/fixtures/platform-api.json
//
// `operations` has an entry for each call, named `METHOD /path/:argument` without `/api/v1`: its query parameters, the
// type of its body, and the type and the status of its response (200 if no status is given). `shapes` has the members
// of each object by name. A name that ends with `?` is optional. A type consists of `string`, `uuid`, `date-time`,
// `binary`, `integer`, `number`, `boolean`, `null`, `object`, `any`, `'literal string'`, `@Shape` and `array<type>`,
// with `|` for "or".
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/**
 * @param {any} api
 * @returns {string} JSON with one operation or shape per line
 */
export function condense(api) {
  const shapes = new Shapes(api.components.schemas);
  /** @type {Record<string, any>} */
  const operations = {};
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${shortPath(path)}`;
      const description = describeOperation(operation, name, shapes);
      // Some calls are described twice, once without their body. Keep the description with the body.
      if (description.body !== undefined || operations[name]?.body === undefined) {
        operations[name] = description;
      }
    }
  }
  const lines = [
    "{",
    '"operations": {',
    toSortedLines(operations),
    "},",
    '"shapes": {',
    toSortedLines(shapes.used),
    "}",
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

const shortPath = (/** @type {string} */ path) =>
  path.replace(/^\/api\/v1/, "").replaceAll(/\{(\w+)\}/g, ":$1");

const toSortedLines = (/** @type {Record<string, unknown>} */ entries) =>
  Object.keys(entries)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}: ${JSON.stringify(entries[name])}`)
    .join(",\n");

/**
 * @param {any} operation
 * @param {string} name
 * @param {Shapes} shapes
 */
function describeOperation({ parameters = [], requestBody, responses }, name, shapes) {
  const query = parameters
    .filter((/** @type {any} */ parameter) => parameter.in === "query")
    .map((/** @type {any} */ parameter) => [
      parameter.required ? parameter.name : `${parameter.name}?`,
      shapes.typeOf(parameter.schema, `${name} ${parameter.name}`),
    ]);
  const [contentType, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const successStatus = Object.keys(responses).find((status) => status.startsWith("2"));
  const answer = responses[successStatus ?? ""]?.content?.["application/json"]?.schema;
  return {
    ...(query.length > 0 && { query: Object.fromEntries(query) }),
    ...(content && {
      body: shapes.typeOf(content.schema, `${name} body`),
      ...(contentType !== "application/json" && { contentType }),
    }),
    ...(answer && { answer: shapes.typeOf(answer, `${name} answer`) }),
    ...(successStatus !== "200" && { status: Number(successStatus) }),
  };
}

const toUntypedMember = (/** @type {string} */ name) => [name, {}];

/** Collects the members of the objects that occur in calls. */
class Shapes {
  /** @type {Record<string, Record<string, string>>} */
  used = {};
  /** @readonly */
  #schemas;

  /** @param {Record<string, any>} schemas */
  constructor(schemas) {
    this.#schemas = schemas;
  }

  /**
   * @param {any} schema
   * @param {string} fallbackName the name of a schema that has none
   * @returns {string}
   */
  typeOf(schema, fallbackName) {
    const parts = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (parts) {
      const types = parts.map((/** @type {any} */ part) => this.typeOf(part, fallbackName));
      return [...new Set(types)].join("|");
    }
    if (schema.$ref) {
      const name = schema.$ref.split("/").at(-1);
      return this.#named(name, this.#schemas[name]);
    }
    if (schema.enum ?? schema.const) {
      return (schema.enum ?? [schema.const])
        .map((/** @type {string} */ value) => `'${value}'`)
        .join("|");
    }
    if (schema.type === "array") {
      return `array<${this.typeOf(schema.items ?? {}, fallbackName)}>`;
    }
    if (schema.properties) {
      return this.#named(fallbackName, schema);
    }
    return schema.format ?? schema.type ?? "any";
  }

  /**
   * @param {string} name
   * @param {any} schema
   */
  #named(name, schema) {
    if (!schema.properties) {
      return this.typeOf(schema, name);
    }
    if (!this.used[name]) {
      const members = (this.used[name] = {});
      // The description lists some required members without a type.
      const requiredMembers = Object.fromEntries((schema.required ?? []).map(toUntypedMember));
      for (const [member, type] of Object.entries({ ...requiredMembers, ...schema.properties })) {
        const key = member in requiredMembers ? member : `${member}?`;
        members[key] = this.typeOf(type, `${name} ${member}`);
      }
    }
    return `@${name}`;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [, , source = "../shared/spec/openapi-subset.json"] = process.argv;
  process.stdout.write(condense(JSON.parse(readFileSync(source, "utf8"))));
}

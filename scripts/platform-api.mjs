// Condenses the platform's API description into facts that tests read:
// node scripts/platform-api.mjs ../shared/spec/openapi-subset.json > tests/fixtures/platform-api.json
//
// `operations` names each call as `METHOD /path/:argument`, without `/api/v1`: its query parameters, the
// members of its body, and of its answer, whose status is 200 where none is named. `shapes` holds the
// members of each object by name. A name that ends in `?` may be absent. A type is made of `string`,
// `uuid`, `date-time`, `binary`, `integer`, `number`, `boolean`, `null`, `object`, `any`,
// `'one of these texts'`, `@Shape` and `array<type>`, with `|` for "or".
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/**
 * @param {any} api
 * @returns {string} JSON, one fact a line
 */
export function condense(api) {
  const shapes = new Shapes(api.components.schemas);
  /** @type {Record<string, any>} */
  const operations = {};
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${shortPath(path)}`;
      const facts = factsOf(operation, name, shapes);
      // Some calls are described twice, and once without their body.
      if (facts.body !== undefined || operations[name]?.body === undefined) {
        operations[name] = facts;
      }
    }
  }
  const lines = [
    "{",
    '"operations": {',
    linesOf(operations),
    "},",
    '"shapes": {',
    linesOf(shapes.used),
    "}",
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

const shortPath = (/** @type {string} */ path) =>
  path.replace(/^\/api\/v1/, "").replaceAll(/\{(\w+)\}/g, ":$1");

const linesOf = (/** @type {Record<string, unknown>} */ entries) =>
  Object.keys(entries)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}: ${JSON.stringify(entries[name])}`)
    .join(",\n");

/**
 * @param {any} operation
 * @param {string} name
 * @param {Shapes} shapes
 */
function factsOf({ parameters = [], requestBody, responses }, name, shapes) {
  const query = parameters
    .filter((/** @type {any} */ one) => one.in === "query")
    .map((/** @type {any} */ one) => [
      one.required ? one.name : `${one.name}?`,
      shapes.typeOf(one.schema, `${name} ${one.name}`),
    ]);
  const [contentType, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const ok = Object.keys(responses).find((status) => status.startsWith("2"));
  const answer = responses[ok ?? ""]?.content?.["application/json"]?.schema;
  return {
    ...(query.length > 0 && { query: Object.fromEntries(query) }),
    ...(content && {
      body: shapes.typeOf(content.schema, `${name} body`),
      ...(contentType !== "application/json" && { contentType }),
    }),
    ...(answer && { answer: shapes.typeOf(answer, `${name} answer`) }),
    ...(ok !== "200" && { status: Number(ok) }),
  };
}

const toUnknown = (/** @type {string} */ name) => [name, {}];

/** The members of the objects that calls speak of. */
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
   * @param {string} place what an object without a name is named after
   * @returns {string}
   */
  typeOf(schema, place) {
    const parts = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (parts) {
      const types = parts.map((/** @type {any} */ part) => this.typeOf(part, place));
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
      return `array<${this.typeOf(schema.items ?? {}, place)}>`;
    }
    if (schema.properties) {
      return this.#named(place, schema);
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
      // The description names some members as required and says no more of them.
      const named = Object.fromEntries((schema.required ?? []).map(toUnknown));
      for (const [member, type] of Object.entries({ ...named, ...schema.properties })) {
        const key = member in named ? member : `${member}?`;
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

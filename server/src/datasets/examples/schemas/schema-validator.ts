import { Ajv } from "ajv";
import type { ErrorObject, Options, ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { messageOf, RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import type { Dataset } from "../../dataset.ts";
import { runWithin, TimeLimitError } from "./time-limit.ts";

type JsonObject = Readonly<Record<string, unknown>>;
/** The JSON schemas that the examples of a dataset must match. */
export type Schemas = Pick<Dataset, "inputsSchema" | "outputsSchema">;

/** The members of an example that schemas describe, as JSON texts, and its id. */
export interface SchemaInput {
  readonly id: string;
  readonly inputs: string;
  readonly outputs: string | null;
}

/** Why examples do not match their schemas: the errors of each invalid example as one text, by example id. */
export type SchemaErrors = Readonly<Record<string, string>>;

/** Maximum number of errors that one message lists. */
const maxListedErrors = 10;
/** Maximum number of compiled schemas in the cache. */
const maxCachedValidators = 100;

/** Validates examples against the JSON schemas of their dataset. Compiled schemas are cached by their JSON text. */
export class SchemaValidator {
  readonly #validators = new Map<string, ValidateFunction>();

  /** @throws RequestError 422: one of the two is not a valid JSON schema. */
  assertSchemas({ inputsSchema, outputsSchema }: Schemas): void {
    this.#findValidator(inputsSchema, "inputs_schema_definition");
    this.#findValidator(outputsSchema, "outputs_schema_definition");
  }

  /** @throws RequestError 422: an example does not match; the message names the examples and the wrong values. */
  assertValid(schemas: Schemas, examples: Iterable<SchemaInput>): void {
    const inputsValidator = this.#findValidator(schemas.inputsSchema, "inputs_schema_definition");
    const outputsValidator = this.#findValidator(
      schemas.outputsSchema,
      "outputs_schema_definition",
    );
    if (inputsValidator === undefined && outputsValidator === undefined) {
      return;
    }
    const errors = runWithTimeLimit(
      "the examples can't be checked against the dataset's schema",
      () => findErrors({ inputs: inputsValidator, outputs: outputsValidator }, examples),
    );
    if (errors.length > 0) {
      const more = errors.length > maxListedErrors ? "; and more" : "";
      throw new RequestError(
        422,
        `examples do not fit the dataset's schema: ${errors.slice(0, maxListedErrors).join("; ")}${more}`,
      );
    }
  }

  /**
   * Returns the first errors of each invalid example, by example id.
   *
   * @throws RequestError 422: the check takes too long.
   */
  findInvalid(schemas: Schemas, examples: Iterable<SchemaInput>): SchemaErrors {
    const inputsValidator = this.#findValidator(schemas.inputsSchema, "inputs_schema_definition");
    const outputsValidator = this.#findValidator(
      schemas.outputsSchema,
      "outputs_schema_definition",
    );
    return runWithTimeLimit("the examples can't be checked against the dataset's schema", () => {
      const errorsById: Record<string, string> = {};
      for (const example of examples) {
        const errors = findErrorsOfExample(
          { inputs: inputsValidator, outputs: outputsValidator },
          example,
        );
        if (errors.length > 0) {
          errorsById[example.id] = errors.slice(0, maxListedErrors).join("; ");
        }
      }
      return errorsById;
    });
  }

  #findValidator(schema: JsonObject | null, name: string): ValidateFunction | undefined {
    if (schema === null) {
      return undefined;
    }
    const text = JSON.stringify(schema);
    const cached = this.#validators.get(text);
    if (cached !== undefined) {
      return cached;
    }
    if (text.length > serverLimits.schemaChars) {
      throw new RequestError(
        422,
        `${name} is longer than ${serverLimits.schemaChars} characters: pass a smaller schema`,
      );
    }
    assertWithinLimits(schema, name);
    const validator = runWithTimeLimit(name, () => compileSchema(schema));
    if (this.#validators.size >= maxCachedValidators) {
      this.#validators.clear();
    }
    this.#validators.set(text, validator);
    return validator;
  }
}

/** Limits for the parts of a schema: Ajv compiles a schema to code that is many times larger than the schema. */
const schemaLimits = [
  { name: "nested schemas", max: serverLimits.schemaParts, isCounted: () => true },
  {
    name: "references",
    max: serverLimits.schemaRefs,
    isCounted: (subschema: object) =>
      "$ref" in subschema || "$dynamicRef" in subschema || "$recursiveRef" in subschema,
  },
  {
    name: "patterns",
    max: serverLimits.schemaPatterns,
    isCounted: (subschema: object) => "pattern" in subschema || "patternProperties" in subschema,
  },
];

/**
 * Checks a schema against {@link schemaLimits} before it is compiled.
 *
 * @throws RequestError 422: the schema exceeds one of the limits.
 */
function assertWithinLimits(schema: JsonObject, name: string): void {
  const counts = schemaLimits.map(() => 0);
  const pending: unknown[] = [schema];
  while (pending.length > 0) {
    const part = pending.pop();
    if (typeof part === "object" && part !== null) {
      const inner: readonly unknown[] = Object.values(part);
      pending.push(...inner);
      for (const [index, limit] of schemaLimits.entries()) {
        const count =
          (counts[index] ?? 0) + (!Array.isArray(part) && limit.isCounted(part) ? 1 : 0);
        counts[index] = count;
        if (count > limit.max) {
          throw new RequestError(
            422,
            `${name} has more than ${limit.max} ${limit.name}: pass a smaller schema`,
          );
        }
      }
    }
  }
}

function runWithTimeLimit<Result>(label: string, work: () => Result): Result {
  try {
    return runWithin(serverLimits.schemaMs, work);
  } catch (cause) {
    const reason =
      cause instanceof TimeLimitError ? `${cause.message}; simplify the schema` : messageOf(cause);
    throw new RequestError(422, `${label}: ${reason}`);
  }
}

const ajvOptions: Options = { strict: false, allErrors: false, logger: false };

function compileSchema(schema: JsonObject): ValidateFunction {
  const ajv = createAjv(schema["$schema"]);
  formatsPlugin.default(ajv);
  const validator = ajv.compile(schema);
  // An asynchronous validator returns a promise, which is truthy: every example would count as valid.
  if (Reflect.has(validator, "$async")) {
    throw new Error("$async is not supported");
  }
  return validator;
}

/**
 * Creates an Ajv instance for the version of JSON Schema that the `$schema` member of a schema names, or for version
 * 2020-12 if that member is absent or names an unknown version.
 */
function createAjv(schemaVersion: unknown): Ajv {
  const name = typeof schemaVersion === "string" ? schemaVersion : "";
  if (name.includes("draft-07") || name.includes("draft-06")) {
    const ajv = new Ajv(ajvOptions);
    ajv.addMetaSchema({ $id: "http://json-schema.org/draft-06/schema#" }, undefined, false);
    return ajv;
  }
  return name.includes("2019-09") ? new Ajv2019(ajvOptions) : new Ajv2020(ajvOptions);
}

interface Validators {
  readonly inputs: ValidateFunction | undefined;
  readonly outputs: ValidateFunction | undefined;
}

function findErrors(validators: Validators, examples: Iterable<SchemaInput>): string[] {
  const errors: string[] = [];
  for (const example of examples) {
    errors.push(
      ...findErrorsOfExample(validators, example).map((error) => `example ${example.id}: ${error}`),
    );
    if (errors.length > maxListedErrors) {
      break;
    }
  }
  return errors;
}

function findErrorsOfExample(validators: Validators, example: SchemaInput): string[] {
  return (["inputs", "outputs"] as const).flatMap((member) => {
    const validator = validators[member];
    const text = example[member];
    // An example may have no outputs yet.
    return validator === undefined || text === null || validator(JSON.parse(text))
      ? []
      : (validator.errors ?? []).map((error) => describeError(member, error));
  });
}

function describeError(member: string, { instancePath, message, params }: ErrorObject): string {
  const property = Reflect.get(params, "additionalProperty") as unknown;
  const name = typeof property === "string" ? ` (${JSON.stringify(property.slice(0, 80))})` : "";
  return `${member}${instancePath.slice(0, 200)} ${message ?? "is not valid"}${name}`;
}

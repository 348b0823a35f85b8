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
export type Schemas = Pick<Dataset, "inputsSchema" | "outputsSchema">;

/** The parts of an example that schemas validate, and its id. */
export interface SchemaInput {
  readonly id: string;
  readonly inputs: string;
  readonly outputs: string | null;
}

/** Number of errors that the message of a failed write lists. */
const maxListedErrors = 10;
/** Number of compiled schemas to cache. */
const maxCachedChecks = 100;

/** Checks examples against the JSON schemas of their dataset. */
export class SchemaCheck {
  readonly #checks = new Map<string, ValidateFunction>();

  /** @throws RequestError 422: one of them is not a valid schema. */
  assertSchemas({ inputsSchema, outputsSchema }: Schemas): void {
    this.#find(inputsSchema, "inputs_schema_definition");
    this.#find(outputsSchema, "outputs_schema_definition");
  }

  /** @throws RequestError 422: an example does not match; the message names examples and paths. */
  assertMatches(schemas: Schemas, examples: Iterable<SchemaInput>): void {
    const inputs = this.#find(schemas.inputsSchema, "inputs_schema_definition");
    const outputs = this.#find(schemas.outputsSchema, "outputs_schema_definition");
    if (inputs === undefined && outputs === undefined) {
      return;
    }
    const faults = runLimited("the examples can't be checked against the dataset's schema", () =>
      findFaults({ inputs, outputs }, examples),
    );
    if (faults.length > 0) {
      const more = faults.length > maxListedErrors ? "; and more" : "";
      throw new RequestError(
        422,
        `examples do not fit the dataset's schema: ${faults.slice(0, maxListedErrors).join("; ")}${more}`,
      );
    }
  }

  /**
   * Returns the first errors of each example that does not match, by example id.
   *
   * @throws RequestError 422: the check takes too long.
   */
  findInvalid(schemas: Schemas, examples: Iterable<SchemaInput>): Readonly<Record<string, string>> {
    const inputs = this.#find(schemas.inputsSchema, "inputs_schema_definition");
    const outputs = this.#find(schemas.outputsSchema, "outputs_schema_definition");
    return runLimited("the examples can't be checked against the dataset's schema", () => {
      const reasons: Record<string, string> = {};
      for (const example of examples) {
        const faults = faultsOf({ inputs, outputs }, example);
        if (faults.length > 0) {
          reasons[example.id] = faults.slice(0, maxListedErrors).join("; ");
        }
      }
      return reasons;
    });
  }

  #find(schema: JsonObject | null, name: string): ValidateFunction | undefined {
    if (schema === null) {
      return undefined;
    }
    const text = JSON.stringify(schema);
    const cached = this.#checks.get(text);
    if (cached !== undefined) {
      return cached;
    }
    if (text.length > serverLimits.schemaChars) {
      throw new RequestError(
        422,
        `${name} is longer than ${serverLimits.schemaChars} characters: pass a smaller schema`,
      );
    }
    assertBounded(schema, name);
    const check = runLimited(name, () => compile(schema));
    if (this.#checks.size >= maxCachedChecks) {
      this.#checks.clear();
    }
    this.#checks.set(text, check);
    return check;
  }
}

/** Limits for what a schema may contain: the code that it compiles to is many times larger than the schema. */
const bounds = [
  { name: "nested schemas", max: serverLimits.schemaParts, counts: () => true },
  {
    name: "references",
    max: serverLimits.schemaRefs,
    counts: (part: object) => "$ref" in part || "$dynamicRef" in part || "$recursiveRef" in part,
  },
  {
    name: "patterns",
    max: serverLimits.schemaPatterns,
    counts: (part: object) => "pattern" in part || "patternProperties" in part,
  },
];

/**
 * Checks a schema against {@link bounds} before it is compiled.
 *
 * @throws RequestError 422: it exceeds one of them.
 */
function assertBounded(schema: JsonObject, name: string): void {
  const counts = bounds.map(() => 0);
  const pending: unknown[] = [schema];
  while (pending.length > 0) {
    const part = pending.pop();
    if (typeof part === "object" && part !== null) {
      const inner: readonly unknown[] = Object.values(part);
      pending.push(...inner);
      for (const [index, bound] of bounds.entries()) {
        const count = (counts[index] ?? 0) + (!Array.isArray(part) && bound.counts(part) ? 1 : 0);
        counts[index] = count;
        if (count > bound.max) {
          throw new RequestError(
            422,
            `${name} has more than ${bound.max} ${bound.name}: pass a smaller schema`,
          );
        }
      }
    }
  }
}

function runLimited<Result>(label: string, work: () => Result): Result {
  try {
    return runWithin(serverLimits.schemaMs, work);
  } catch (cause) {
    const reason =
      cause instanceof TimeLimitError ? `${cause.message}: make it simpler` : messageOf(cause);
    throw new RequestError(422, `${label}: ${reason}`);
  }
}

const options: Options = { strict: false, allErrors: false, logger: false };

function compile(schema: JsonObject): ValidateFunction {
  const ajv = createAjv(schema["$schema"]);
  formatsPlugin.default(ajv);
  const check = ajv.compile(schema);
  // An async check returns a promise, which is truthy, so every example would pass as valid.
  if (Reflect.has(check, "$async")) {
    throw new Error("$async is not supported");
  }
  return check;
}

/** Creates a validator for the schema's JSON Schema draft; 2020-12 if the schema names none. */
function createAjv(draft: unknown): Ajv {
  const name = typeof draft === "string" ? draft : "";
  if (name.includes("draft-07") || name.includes("draft-06")) {
    const ajv = new Ajv(options);
    ajv.addMetaSchema({ $id: "http://json-schema.org/draft-06/schema#" }, undefined, false);
    return ajv;
  }
  return name.includes("2019-09") ? new Ajv2019(options) : new Ajv2020(options);
}

interface Checks {
  readonly inputs: ValidateFunction | undefined;
  readonly outputs: ValidateFunction | undefined;
}

function findFaults(checks: Checks, examples: Iterable<SchemaInput>): string[] {
  const faults: string[] = [];
  for (const example of examples) {
    faults.push(...faultsOf(checks, example).map((fault) => `example ${example.id}: ${fault}`));
    if (faults.length > maxListedErrors) {
      break;
    }
  }
  return faults;
}

function faultsOf(checks: Checks, example: SchemaInput): string[] {
  return (["inputs", "outputs"] as const).flatMap((member) => {
    const check = checks[member];
    const text = example[member];
    // An example may have no outputs yet.
    return check === undefined || text === null || check(JSON.parse(text))
      ? []
      : (check.errors ?? []).map((error) => describe(member, error));
  });
}

function describe(member: string, { instancePath, message, params }: ErrorObject): string {
  const extra = Reflect.get(params, "additionalProperty") as unknown;
  const name = typeof extra === "string" ? ` (${JSON.stringify(extra.slice(0, 80))})` : "";
  return `${member}${instancePath.slice(0, 200)} ${message ?? "is not valid"}${name}`;
}

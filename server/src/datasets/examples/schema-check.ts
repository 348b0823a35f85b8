import { Ajv } from "ajv";
import type { ErrorObject, Options, ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { messageOf, RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";
import type { Dataset } from "../dataset.ts";
import { runWithin, TimeLimitError } from "./time-limit.ts";

type JsonObject = Readonly<Record<string, unknown>>;
export type Schemas = Pick<Dataset, "inputsSchema" | "outputsSchema">;

/** What of an example is looked at. */
export interface Checked {
  readonly id: string;
  readonly inputs: string;
  readonly outputs: string | null;
}

/** Faults of one write that are named. */
const faultsShown = 10;
/** Schemas whose checks are kept. */
const checksKept = 100;

/** Checks examples against the JSON schemas of their dataset. */
export class SchemaCheck {
  readonly #checks = new Map<string, ValidateFunction>();

  /** @throws RequestError 422: one of them is no schema. */
  assertSchemas({ inputsSchema, outputsSchema }: Schemas): void {
    this.#find(inputsSchema, "inputs_schema_definition");
    this.#find(outputsSchema, "outputs_schema_definition");
  }

  /** @throws RequestError 422: one does not fit; examples and paths are named. */
  assertFit(schemas: Schemas, examples: Iterable<Checked>): void {
    const inputs = this.#find(schemas.inputsSchema, "inputs_schema_definition");
    const outputs = this.#find(schemas.outputsSchema, "outputs_schema_definition");
    if (inputs === undefined && outputs === undefined) {
      return;
    }
    const faults = within("the examples can't be checked against the dataset's schema", () =>
      findFaults({ inputs, outputs }, examples),
    );
    if (faults.length > 0) {
      const more = faults.length > faultsShown ? "; and more" : "";
      throw new RequestError(
        422,
        `examples do not fit the dataset's schema: ${faults.slice(0, faultsShown).join("; ")}${more}`,
      );
    }
  }

  /**
   * By id: the first faults of each example that does not fit.
   *
   * @throws RequestError 422: checking them takes too long.
   */
  findMisfits(schemas: Schemas, examples: Iterable<Checked>): Readonly<Record<string, string>> {
    const inputs = this.#find(schemas.inputsSchema, "inputs_schema_definition");
    const outputs = this.#find(schemas.outputsSchema, "outputs_schema_definition");
    return within("the examples can't be checked against the dataset's schema", () => {
      const misfits: Record<string, string> = {};
      for (const example of examples) {
        const faults = faultsOf({ inputs, outputs }, example);
        if (faults.length > 0) {
          misfits[example.id] = faults.slice(0, faultsShown).join("; ");
        }
      }
      return misfits;
    });
  }

  #find(schema: JsonObject | null, name: string): ValidateFunction | undefined {
    if (schema === null) {
      return undefined;
    }
    const text = JSON.stringify(schema);
    const known = this.#checks.get(text);
    if (known !== undefined) {
      return known;
    }
    if (text.length > serverLimits.schemaChars) {
      throw new RequestError(
        422,
        `${name} is longer than ${serverLimits.schemaChars} characters: give a smaller one`,
      );
    }
    assertBounded(schema, name);
    const check = within(name, () => compile(schema));
    if (this.#checks.size >= checksKept) {
      this.#checks.clear();
    }
    this.#checks.set(text, check);
    return check;
  }
}

/** Of each kind so many: what a schema compiles to is many times as long as itself. */
const bounds = [
  { what: "schemas within it", most: serverLimits.schemaParts, counts: () => true },
  {
    what: "references",
    most: serverLimits.schemaRefs,
    counts: (part: object) => "$ref" in part || "$dynamicRef" in part || "$recursiveRef" in part,
  },
  {
    what: "patterns",
    most: serverLimits.schemaPatterns,
    counts: (part: object) => "pattern" in part || "patternProperties" in part,
  },
];

/** @throws RequestError 422: it has more of something than may be compiled. */
function assertBounded(schema: JsonObject, name: string): void {
  const counts = bounds.map(() => 0);
  const open: unknown[] = [schema];
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part === "object" && part !== null) {
      const inner: readonly unknown[] = Object.values(part);
      open.push(...inner);
      for (const [index, bound] of bounds.entries()) {
        const count = (counts[index] ?? 0) + (!Array.isArray(part) && bound.counts(part) ? 1 : 0);
        counts[index] = count;
        if (count > bound.most) {
          throw new RequestError(
            422,
            `${name} has more than ${bound.most} ${bound.what}: give a smaller one`,
          );
        }
      }
    }
  }
}

function within<Result>(what: string, work: () => Result): Result {
  try {
    return runWithin(serverLimits.schemaMs, work);
  } catch (cause) {
    const reason =
      cause instanceof TimeLimitError ? `${cause.message}: make it simpler` : messageOf(cause);
    throw new RequestError(422, `${what}: ${reason}`);
  }
}

const options: Options = { strict: false, allErrors: false, logger: false };

function compile(schema: JsonObject): ValidateFunction {
  const ajv = createAjv(schema["$schema"]);
  formatsPlugin.default(ajv);
  const check = ajv.compile(schema);
  // A check that answers with a promise would take everything for valid.
  if (Reflect.has(check, "$async")) {
    throw new Error("$async is not supported");
  }
  return check;
}

/** By the draft that it names; 2020-12 where it names none. */
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

function findFaults(checks: Checks, examples: Iterable<Checked>): string[] {
  const faults: string[] = [];
  for (const example of examples) {
    faults.push(...faultsOf(checks, example).map((fault) => `example ${example.id}: ${fault}`));
    if (faults.length > faultsShown) {
      break;
    }
  }
  return faults;
}

function faultsOf(checks: Checks, example: Checked): string[] {
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

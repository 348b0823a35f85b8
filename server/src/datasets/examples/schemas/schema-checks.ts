import { createHash } from "node:crypto";
import { pack } from "../large-examples.ts";
import type { Packed } from "../large-examples.ts";
import type { SchemaCheckMode } from "../example-tasks.ts";
import type { SchemaErrors, SchemaInput, Schemas } from "./schema-validator.ts";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";

/** A check of examples against schemas that must be done before a write. */
export interface SchemaCheckRequest {
  /**
   * Digest of the schemas and of the examples to check. The result contains the same digest, so that it can be
   * matched to this request.
   */
  readonly digest: string;
  readonly schemas: Schemas;
  readonly examples: Packed<readonly SchemaInput[]>;
  readonly mode: SchemaCheckMode;
}

/** The result of a schema check. In mode `fail` there are no errors, because an invalid example fails the write. */
export interface SchemaCheckResult {
  readonly digest: string;
  readonly errors: SchemaErrors;
}

/** The result of a write that was rolled back because these schema checks must be done first. */
export interface MissingChecks {
  readonly missingChecks: readonly SchemaCheckRequest[];
}

/** Aborts a write because these schema checks must be done first. Nothing of the write is stored. */
export class MissingChecksError extends Error {
  readonly missingChecks: readonly SchemaCheckRequest[];

  constructor(missingChecks: readonly SchemaCheckRequest[]) {
    super("the schema checks of this write must be done first");
    this.missingChecks = missingChecks;
  }
}

/**
 * The schema checks of the current write. The writer thread does not check examples itself: a regular expression in a
 * schema may run forever, and would block the writes of all tenants. A write whose checks are missing is rolled back;
 * the main thread lets a worker thread do them, and sends the write again with their results. A result applies only to
 * the schemas and examples that were checked: if they change in the meantime, another check is required.
 */
export class SchemaChecks {
  #errorsByDigest: ReadonlyMap<string, SchemaErrors> = new Map();
  #missing: SchemaCheckRequest[] = [];
  #lastSchemas: Schemas | undefined;

  /** Must be called before each write, with the results of the checks that were already done for it. */
  begin(results: readonly SchemaCheckResult[] = []): void {
    this.#errorsByDigest = new Map(results.map(({ digest, errors }) => [digest, errors]));
    this.#missing = [];
  }

  /** Copies the results for a long write, which continues while other writes call {@link SchemaChecks.begin}. */
  copy(): SchemaChecks {
    const checks = new SchemaChecks();
    checks.#errorsByDigest = this.#errorsByDigest;
    return checks;
  }

  /** @throws MissingChecksError if a required check has no result yet. */
  assertNoneMissing(): void {
    if (this.#missing.length > 0) {
      throw new MissingChecksError(this.#missing);
    }
  }

  /** The required checks that have no result yet. */
  get missing(): readonly SchemaCheckRequest[] {
    return this.#missing;
  }

  /** Requires that the schemas are valid JSON schemas. */
  requireValidSchemas(schemas: Schemas): void {
    this.#findResult(schemas, [], "fail");
  }

  /** Requires that the examples match the schemas. */
  requireValid(schemas: Schemas, examples: Iterable<SchemaInput>): void {
    if (hasAnySchema(schemas)) {
      this.#findResult(schemas, collectExamples(examples), "fail");
    }
  }

  /** Returns the errors of examples that do not match the schemas; no errors if the check has not been done yet. */
  findErrors(schemas: Schemas, examples: Iterable<SchemaInput>): SchemaErrors {
    return hasAnySchema(schemas)
      ? this.#findResult(schemas, collectExamples(examples), "report")
      : {};
  }

  /** Returns the errors that a check has found. If the check was not done yet, adds it to the missing checks. */
  #findResult(
    { inputsSchema, outputsSchema }: Schemas,
    examples: readonly SchemaInput[],
    mode: SchemaCheckMode,
  ): SchemaErrors {
    const bothSchemas = { inputsSchema, outputsSchema };
    if (!hasAnySchema(bothSchemas)) {
      return {};
    }
    const lastSchemas = this.#lastSchemas;
    // Use the same object for all checks of a write: `groupBySchemas` can then compare schemas by reference.
    const schemas =
      lastSchemas?.inputsSchema === inputsSchema && lastSchemas.outputsSchema === outputsSchema
        ? lastSchemas
        : bothSchemas;
    this.#lastSchemas = schemas;
    const digest = computeDigest(schemas, examples, mode);
    const errors = this.#errorsByDigest.get(digest);
    if (errors === undefined) {
      this.#missing.push({ digest, schemas, examples: pack(examples), mode });
    }
    return errors ?? {};
  }
}

const hasAnySchema = ({ inputsSchema, outputsSchema }: Schemas): boolean =>
  inputsSchema !== null || outputsSchema !== null;

/**
 * Collects the members of the examples that a check reads, to send them to another thread.
 *
 * @throws RequestError 413: the examples are too large to check in one write.
 */
function collectExamples(examples: Iterable<SchemaInput>): SchemaInput[] {
  const collected: SchemaInput[] = [];
  let chars = 0;
  for (const { id, inputs, outputs } of examples) {
    chars += inputs.length + (outputs?.length ?? 0);
    if (chars > serverLimits.schemaCheckChars) {
      throw new RequestError(
        413,
        `more than ${serverLimits.schemaCheckChars} characters of examples would have to be checked against a schema in one write; create a new dataset with the schema, and write the examples in parts`,
      );
    }
    collected.push({ id, inputs, outputs });
  }
  return collected;
}

function computeDigest(schemas: Schemas, examples: readonly SchemaInput[], mode: string): string {
  const hash = createHash("sha256").update(`${mode}\n${JSON.stringify(schemas)}`);
  for (const { inputs, outputs } of examples) {
    hash.update(`\n${inputs.length},${outputs?.length ?? -1}\n${inputs}${outputs ?? ""}`);
  }
  return hash.digest("base64url");
}

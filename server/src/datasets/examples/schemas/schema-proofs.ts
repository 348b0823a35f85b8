import { createHash } from "node:crypto";
import { pack } from "../large-examples.ts";
import type { Packed } from "../large-examples.ts";
import type { SchemaInput, Schemas } from "./schema-check.ts";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";

/** A schema check that must be done before a write. */
export interface SchemaNeed {
  /** Digest of the schemas and of the examples to check. */
  readonly digest: string;
  readonly schemas: Schemas;
  readonly examples: Packed<readonly SchemaInput[]>;
  readonly mode: "faults" | "misfits";
}

/**
 * The result of a check: by example id, why the example does not match. Empty for mode `faults`, where a mismatch
 * fails the write instead.
 */
export interface SchemaProof {
  readonly digest: string;
  readonly misfits: Readonly<Record<string, string>>;
}

/** The result of a write that was rolled back because some examples are not checked yet. */
export interface Unchecked {
  readonly unchecked: readonly SchemaNeed[];
}

/** Aborts a long write that needs schema checks, before it has written anything. */
export class UncheckedWrite extends Error {
  readonly needs: readonly SchemaNeed[];

  constructor(needs: readonly SchemaNeed[]) {
    super("not checked yet");
    this.needs = needs;
  }
}

/**
 * Checks on the writer thread that examples were validated, without validating them there: a regular expression in a
 * schema may run forever and would block the writes of all tenants. A write that needs a check is rolled back and
 * returns what must be checked; it is sent again with the results (proofs). A proof is bound to the checked content:
 * if the content changes in the meantime, another one is needed.
 */
export class SchemaProofs {
  #proofs: ReadonlyMap<string, SchemaProof["misfits"]> = new Map();
  #needs: SchemaNeed[] = [];
  #lastSchemas: Schemas | undefined;

  /** Must be called before each write, with the proofs that were sent with it. */
  begin(proofs: readonly SchemaProof[] = []): void {
    this.#proofs = new Map(proofs.map(({ digest, misfits }) => [digest, misfits]));
    this.#needs = [];
  }

  /** Copies the proofs, for a long write that continues while other writes run. */
  fork(): SchemaProofs {
    const forked = new SchemaProofs();
    forked.#proofs = this.#proofs;
    return forked;
  }

  /** @throws UncheckedWrite a check is missing. */
  assertProved(): void {
    if (this.#needs.length > 0) {
      throw new UncheckedWrite(this.#needs);
    }
  }

  /** The checks that the write needs and that have no proof. */
  get needs(): readonly SchemaNeed[] {
    return this.#needs;
  }

  /** Requires proof that the schemas are valid. */
  assertSchemas(schemas: Schemas): void {
    this.#prove(schemas, [], "faults");
  }

  /** Requires proof that the examples match the schemas. */
  assertFit(schemas: Schemas, examples: Iterable<SchemaInput>): void {
    if (hasSchema(schemas)) {
      this.#prove(schemas, collect(examples), "faults");
    }
  }

  /** By example id: why the example does not match. Empty as long as there is no proof. */
  findMisfits(schemas: Schemas, examples: Iterable<SchemaInput>): Readonly<Record<string, string>> {
    return hasSchema(schemas) ? this.#prove(schemas, collect(examples), "misfits") : {};
  }

  #prove(
    { inputsSchema, outputsSchema }: Schemas,
    examples: readonly SchemaInput[],
    mode: SchemaNeed["mode"],
  ): SchemaProof["misfits"] {
    const bothSchemas = { inputsSchema, outputsSchema };
    if (!hasSchema(bothSchemas)) {
      return {};
    }
    const last = this.#lastSchemas;
    // Reuse one object for all parts of a write: the receiver can then compare schemas by reference.
    const schemas =
      last?.inputsSchema === inputsSchema && last.outputsSchema === outputsSchema
        ? last
        : bothSchemas;
    this.#lastSchemas = schemas;
    const digest = digestOf(schemas, examples, mode);
    const proof = this.#proofs.get(digest);
    if (proof === undefined) {
      this.#needs.push({ digest, schemas, examples: pack(examples), mode });
    }
    return proof ?? {};
  }
}

const hasSchema = ({ inputsSchema, outputsSchema }: Schemas): boolean =>
  inputsSchema !== null || outputsSchema !== null;

/**
 * Collects the examples to send to another thread.
 *
 * @throws RequestError 413: they are too large to check in one write.
 */
function collect(examples: Iterable<SchemaInput>): SchemaInput[] {
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

function digestOf(schemas: Schemas, examples: readonly SchemaInput[], mode: string): string {
  const hash = createHash("sha256").update(`${mode}\n${JSON.stringify(schemas)}`);
  for (const { inputs, outputs } of examples) {
    hash.update(`\n${inputs.length},${outputs?.length ?? -1}\n${inputs}${outputs ?? ""}`);
  }
  return hash.digest("base64url");
}

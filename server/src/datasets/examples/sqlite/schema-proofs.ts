import { createHash } from "node:crypto";
import { pack } from "../large-examples.ts";
import type { Packed } from "../large-examples.ts";
import type { Checked, Schemas } from "../schema-check.ts";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";

/** What is to be checked before a write may be done. */
export interface SchemaNeed {
  /** Of the schemas and of what is checked against them. */
  readonly digest: string;
  readonly schemas: Schemas;
  readonly examples: Packed<readonly Checked[]>;
  readonly finds: "faults" | "misfits";
}

/** What came of a check: by id what does not fit. One that was asked for faults had none. */
export interface SchemaProof {
  readonly digest: string;
  readonly misfits: Readonly<Record<string, string>>;
}

/** What a write answers that was undone because something of it was not checked. */
export interface Unchecked {
  readonly unchecked: readonly SchemaNeed[];
}

/** Ends a long write that needs proofs, before it has written anything. */
export class UncheckedWrite extends Error {
  readonly needs: readonly SchemaNeed[];

  constructor(needs: readonly SchemaNeed[]) {
    super("not checked yet");
    this.needs = needs;
  }
}

/**
 * Replaces checks of schemas on the writer thread, which never runs them: a pattern may take for ever, and the writes of all
 * tenants would wait. A write that needs a check is rolled back and returns what has to be checked; it is sent again with the
 * proofs. A proof is bound to the checked content: what changed in the meantime needs another one.
 */
export class SchemaProofs {
  #proofs: ReadonlyMap<string, SchemaProof["misfits"]> = new Map();
  #needs: SchemaNeed[] = [];
  #lastSchemas: Schemas | undefined;

  /** Before each write. */
  begin(proofs: readonly SchemaProof[] = []): void {
    this.#proofs = new Map(proofs.map(({ digest, misfits }) => [digest, misfits]));
    this.#needs = [];
  }

  /** The same proofs, for a write that goes on while others are performed. */
  fork(): SchemaProofs {
    const forked = new SchemaProofs();
    forked.#proofs = this.#proofs;
    return forked;
  }

  /** @throws UncheckedWrite something was not proved. */
  assertProved(): void {
    if (this.#needs.length > 0) {
      throw new UncheckedWrite(this.#needs);
    }
  }

  /** What the write did without. */
  get needs(): readonly SchemaNeed[] {
    return this.#needs;
  }

  /** The schemas are schemas. */
  assertSchemas(schemas: Schemas): void {
    this.#prove(schemas, [], "faults");
  }

  /** The examples fit. */
  assertFit(schemas: Schemas, examples: Iterable<Checked>): void {
    if (hasSchema(schemas)) {
      this.#prove(schemas, gather(examples), "faults");
    }
  }

  /** By id: why examples do not fit; nothing yet where that is not known. */
  findMisfits(schemas: Schemas, examples: Iterable<Checked>): Readonly<Record<string, string>> {
    return hasSchema(schemas) ? this.#prove(schemas, gather(examples), "misfits") : {};
  }

  #prove(
    { inputsSchema, outputsSchema }: Schemas,
    examples: readonly Checked[],
    finds: SchemaNeed["finds"],
  ): SchemaProof["misfits"] {
    const given = { inputsSchema, outputsSchema };
    if (!hasSchema(given)) {
      return {};
    }
    const last = this.#lastSchemas;
    // One object for the parts of a write: who receives them need not compare the schemas.
    const schemas =
      last?.inputsSchema === inputsSchema && last.outputsSchema === outputsSchema ? last : given;
    this.#lastSchemas = schemas;
    const digest = digestOf(schemas, examples, finds);
    const proof = this.#proofs.get(digest);
    if (proof === undefined) {
      this.#needs.push({ digest, schemas, examples: pack(examples), finds });
    }
    return proof ?? {};
  }
}

const hasSchema = ({ inputsSchema, outputsSchema }: Schemas): boolean =>
  inputsSchema !== null || outputsSchema !== null;

/** All of them at once: they go to another thread. @throws RequestError 413: they are too much for that. */
function gather(examples: Iterable<Checked>): Checked[] {
  const gathered: Checked[] = [];
  let chars = 0;
  for (const { id, inputs, outputs } of examples) {
    chars += inputs.length + (outputs?.length ?? 0);
    if (chars > serverLimits.schemaCheckChars) {
      throw new RequestError(
        413,
        `more than ${serverLimits.schemaCheckChars} characters of examples would have to be checked against a schema in one write; make a new dataset with the schema, and write the examples in parts`,
      );
    }
    gathered.push({ id, inputs, outputs });
  }
  return gathered;
}

function digestOf(schemas: Schemas, examples: readonly Checked[], finds: string): string {
  const hash = createHash("sha256").update(`${finds}\n${JSON.stringify(schemas)}`);
  for (const { inputs, outputs } of examples) {
    hash.update(`\n${inputs.length},${outputs?.length ?? -1}\n${inputs}${outputs ?? ""}`);
  }
  return hash.digest("base64url");
}

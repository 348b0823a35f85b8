import { RequestError } from "../../../model/errors.ts";
import type { SchemaTask } from "../example-tasks.ts";
import type { WorkThreads } from "../../../storage/work-threads.ts";
import type { SchemaNeed, SchemaProof, Unchecked } from "./schema-proofs.ts";

/** Performs a write, given the results of the schema checks that were already done for it. */
type Write = (proofs: readonly SchemaProof[]) => Promise<unknown>;

/** Maximum number of attempts: if content changes between a check and the write, it must be checked again. */
const maxRounds = 5;

/**
 * Performs a write, and runs the schema checks that it needs on a worker thread, not on the writer thread.
 *
 * @throws RequestError 422: an example does not match its schema, or the check takes too long. 503: the dataset keeps
 * changing.
 */
export async function writeChecked(
  work: WorkThreads,
  tenantId: string,
  write: Write,
): Promise<unknown> {
  const proofs: SchemaProof[] = [];
  for (let round = 0; round < maxRounds; round += 1) {
    const result = await write(proofs);
    if (!isUnchecked(result)) {
      return result;
    }
    proofs.push(...(await check(work, tenantId, result.unchecked)));
  }
  throw new RequestError(
    503,
    "the dataset keeps changing while the examples are checked against its schema; send the request again",
    1,
  );
}

const isUnchecked = (result: unknown): result is Unchecked =>
  typeof result === "object" && result !== null && Object.hasOwn(result, "unchecked");

async function check(
  work: WorkThreads,
  tenantId: string,
  needs: readonly SchemaNeed[],
): Promise<readonly SchemaProof[]> {
  const proofs: SchemaProof[] = [];
  for (const group of groupsOf(needs)) {
    const [{ schemas, mode }] = group;
    const examples = group.map((need) => need.examples);
    const misfits = await work.run<SchemaTask>(tenantId, {
      kind: "schema",
      schemas,
      examples,
      mode,
    });
    proofs.push(...group.map(({ digest }) => ({ digest, misfits })));
  }
  return proofs;
}

type Group = [SchemaNeed, ...SchemaNeed[]];

/** Groups consecutive checks against the same schemas, so that one task performs them. */
function groupsOf(needs: readonly SchemaNeed[]): readonly Group[] {
  const groups: Group[] = [];
  for (const need of needs) {
    const last = groups.at(-1);
    if (last !== undefined && last[0].mode === need.mode && hasSameSchemas(last[0], need)) {
      last.push(need);
    } else {
      groups.push([need]);
    }
  }
  return groups;
}

const hasSameSchemas = (one: SchemaNeed, other: SchemaNeed): boolean =>
  one.schemas === other.schemas || JSON.stringify(one.schemas) === JSON.stringify(other.schemas);

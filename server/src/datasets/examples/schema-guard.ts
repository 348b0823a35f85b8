import { RequestError } from "../../model/errors.ts";
import type { SchemaTask } from "./example-tasks.ts";
import type { WorkThreads } from "../../storage/work-threads.ts";
import type { SchemaNeed, SchemaProof, Unchecked } from "./sqlite/schema-proofs.ts";

/** A write with what was proved for it. */
type Write = (proofs: readonly SchemaProof[]) => Promise<unknown>;

/** Content may change between a check and the write; then it is checked once more, so often at most. */
const roundsMax = 5;

/**
 * Performs a write, and has checked beside the writer what it needs to have checked.
 *
 * @throws RequestError 422: something does not fit its schema, or takes too long to check.
 */
export async function writeChecked(
  work: WorkThreads,
  tenantId: string,
  write: Write,
): Promise<unknown> {
  const proofs: SchemaProof[] = [];
  for (let round = 0; round < roundsMax; round += 1) {
    const answer = await write(proofs);
    if (!isUnchecked(answer)) {
      return answer;
    }
    proofs.push(...(await check(work, tenantId, answer.unchecked)));
  }
  throw new RequestError(503, "the dataset changes while this is checked; send it again", 1);
}

const isUnchecked = (answer: unknown): answer is Unchecked =>
  typeof answer === "object" && answer !== null && Object.hasOwn(answer, "unchecked");

async function check(
  work: WorkThreads,
  tenantId: string,
  needs: readonly SchemaNeed[],
): Promise<readonly SchemaProof[]> {
  const proofs: SchemaProof[] = [];
  for (const group of groupsOf(needs)) {
    const [{ schemas, finds }] = group;
    const examples = group.map((need) => need.examples);
    const misfits = await work.run<SchemaTask>(tenantId, {
      kind: "schema",
      schemas,
      examples,
      finds,
    });
    proofs.push(...group.map(({ digest }) => ({ digest, misfits })));
  }
  return proofs;
}

type Group = [SchemaNeed, ...SchemaNeed[]];

/** What follows one another against the same schemas is checked at once. */
function groupsOf(needs: readonly SchemaNeed[]): readonly Group[] {
  const groups: Group[] = [];
  for (const need of needs) {
    const last = groups.at(-1);
    if (last !== undefined && last[0].finds === need.finds && hasSameSchemas(last[0], need)) {
      last.push(need);
    } else {
      groups.push([need]);
    }
  }
  return groups;
}

const hasSameSchemas = (one: SchemaNeed, other: SchemaNeed): boolean =>
  one.schemas === other.schemas || JSON.stringify(one.schemas) === JSON.stringify(other.schemas);

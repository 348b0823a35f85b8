import { RequestError } from "../../../model/errors.ts";
import type { SchemaTask } from "../example-tasks.ts";
import type { WorkThreads } from "../../../storage/work-threads.ts";
import type { SchemaCheckRequest, SchemaCheckResult, MissingChecks } from "./schema-checks.ts";

/** Performs a write, given the results of the schema checks that were already done for it. */
type Write = (checkResults: readonly SchemaCheckResult[]) => Promise<unknown>;

/**
 * Maximum number of attempts of a write. If an example changes after its check, the write fails and the example is
 * checked again.
 */
const maxAttempts = 5;

/**
 * Performs a write. The schema checks that it requires run on a worker thread, because they would block all other
 * writes on the writer thread.
 *
 * @throws RequestError 422: an example does not match its schema, or the check takes too long. 503: the dataset keeps
 * changing.
 */
export async function writeChecked(
  workThreads: WorkThreads,
  tenantId: string,
  write: Write,
): Promise<unknown> {
  const checkResults: SchemaCheckResult[] = [];
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const result = await write(checkResults);
    if (!hasMissingChecks(result)) {
      return result;
    }
    checkResults.push(...(await runChecks(workThreads, tenantId, result.missingChecks)));
  }
  throw new RequestError(
    503,
    "the dataset keeps changing while the examples are checked against its schema; send the request again",
    1,
  );
}

const hasMissingChecks = (result: unknown): result is MissingChecks =>
  typeof result === "object" && result !== null && Object.hasOwn(result, "missingChecks");

async function runChecks(
  workThreads: WorkThreads,
  tenantId: string,
  requests: readonly SchemaCheckRequest[],
): Promise<readonly SchemaCheckResult[]> {
  const results: SchemaCheckResult[] = [];
  for (const group of groupBySchemas(requests)) {
    const [{ schemas, mode }] = group;
    const examples = group.map((request) => request.examples);
    const errors = await workThreads.run<SchemaTask>(tenantId, {
      kind: "schema",
      schemas,
      examples,
      mode,
    });
    results.push(...group.map(({ digest }) => ({ digest, errors })));
  }
  return results;
}

type CheckGroup = [SchemaCheckRequest, ...SchemaCheckRequest[]];

/** Groups consecutive checks against the same schemas, so that one task performs them. */
function groupBySchemas(requests: readonly SchemaCheckRequest[]): readonly CheckGroup[] {
  const groups: CheckGroup[] = [];
  for (const request of requests) {
    const lastGroup = groups.at(-1);
    if (
      lastGroup !== undefined &&
      lastGroup[0].mode === request.mode &&
      hasSameSchemas(lastGroup[0], request)
    ) {
      lastGroup.push(request);
    } else {
      groups.push([request]);
    }
  }
  return groups;
}

const hasSameSchemas = (a: SchemaCheckRequest, b: SchemaCheckRequest): boolean =>
  a.schemas === b.schemas || JSON.stringify(a.schemas) === JSON.stringify(b.schemas);

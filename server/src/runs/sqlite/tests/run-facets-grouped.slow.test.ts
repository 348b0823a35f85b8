import { dayMicros } from "../../../model/durations.ts";
import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { microsToStamp } from "millrace/model";
import { expect, test } from "vitest";
import { RequestError } from "../../../model/errors.ts";
import { parseBatch, parseOneRun, decodeBatch } from "../../ingest/parse-batch.ts";
import { toBatch } from "../../../otlp/to-batch.ts";
import type { RunBatch } from "../../run-record.ts";
import { createWriters } from "../../../store/repositories.ts";
import { packPosts } from "../post-rows.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import { openWriter } from "../../../store/schema.ts";
import { facetIndex, missingFacets } from "../../../../tests/support/facet-oracle.ts";
import { otlpSpan, readSpans } from "../../../../tests/support/otlp-spans.ts";
import { someMicros } from "../../../../tests/support/wire-runs.ts";

const ids = Array.from({ length: 5 }, (_, at) => `01a20177-2565-737a-8327-bc822f53273${at}`);

/** Few distinct times, so that runs share them: two are in the same block, the last ones are before 1970. */
const stamps = [
  ...[0, 1, 100_000].map((after) => microsToStamp(someMicros + after)),
  "19691231T235959999999Z",
  "19691231T235959800000Z",
];
const word = fc.constantFrom("a", "b", "x\0y", "\ud800", "é", "z".repeat(200), "z".repeat(201));
const time = fc.constantFrom(null, null, someMicros / 1_000, someMicros / 1_000 + 150, 0, 99.999);

/** A run's ids and dotted order; two of the ids are below a root. */
const position = fc.tuple(fc.nat(4), fc.constantFrom(...stamps)).map(([at, stamp]) => {
  const [id = "", root = ""] = [ids[at], ids[0]];
  const own = stamp + id;
  return at < 3
    ? { id, trace_id: id, dotted_order: own }
    : { id, trace_id: root, dotted_order: `${stamp}${root}.${own}`, parent_run_id: root };
});
const details = fc.record(
  {
    name: fc.option(word),
    run_type: fc.constantFrom("llm", "chain", "t\0", null),
    session_name: fc.constantFrom("p", "q", null),
    start_time: time,
    end_time: time,
    tags: fc.option(fc.array(word, { maxLength: 2 })),
    extra: fc.record({ metadata: fc.dictionary(word, fc.oneof(word, fc.constant(["a", ["b"]]))) }),
    outputs: fc.constant({ usage_metadata: { total_tokens: 3 } }),
    error: fc.constantFrom(null, "it failed"),
  },
  { requiredKeys: [] },
);
const run = fc.tuple(position, details).map(([at, fields]) => ({ ...fields, ...at }));
/** A batch of many new runs. */
const largeBatch = fc.tuple(fc.integer({ min: 60, max: 140 }), details).map(([count, fields]) =>
  Array.from({ length: count }, (_, at) => {
    const id = `01a20177-2565-737a-8327-bc8230000${String(at).padStart(3, "0")}`;
    return { ...fields, id, trace_id: id, dotted_order: stamps[at % 2] + id };
  }),
);
const tenant = fc.constantFrom("t0", "t0", "t0", "t1");

const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("batch" as const),
      tenant,
      post: fc.oneof(
        { weight: 9, arbitrary: fc.array(run, { maxLength: 5 }) },
        { weight: 1, arbitrary: largeBatch },
      ),
      patch: fc.array(run, { maxLength: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("one" as const),
      tenant,
      operation: fc.constantFrom("post" as const, "patch" as const),
      run,
      /** The members that the run lacks. */
      without: fc.subarray(["trace_id", "dotted_order"] as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("spans" as const),
      tenant,
      spans: fc.array(
        fc.record({
          id: fc.integer({ min: 1, max: 4 }),
          parent: fc.integer({ min: 1, max: 6 }),
          kind: fc.constantFrom("llm", "chain"),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("rename" as const, "delete" as const, "fail" as const),
      tenant,
      name: fc.constantFrom("p", "q", "s", "default"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("sweep" as const),
      tenant,
      before: fc.constantFrom(150_000, someMicros + 100_000, someMicros + 300_000),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Of> ? Of : never;

/** A database with its writers, which runs steps in transactions. */
class WriterFixture {
  readonly db = openWriter(":memory:");
  #writers = createWriters(this.db);
  readonly #take: (body: Buffer) => RunBatch;

  constructor(take: (body: Buffer) => RunBatch) {
    this.#take = take;
  }

  /** Runs a transaction as the writer thread does, and rolls it back if `end` says so. */
  async transact(steps: readonly Step[], end: "COMMIT" | "ROLLBACK"): Promise<unknown[]> {
    this.db.exec("BEGIN IMMEDIATE");
    const responses: unknown[] = [];
    for (const one of steps) {
      responses.push(await this.#do(one));
    }
    this.db.exec(end);
    if (end === "ROLLBACK") {
      this.#writers.runs.clearCaches();
    }
    return responses;
  }

  restart(): void {
    this.#writers = createWriters(this.db);
  }

  async #do(one: Step): Promise<unknown> {
    switch (one.kind) {
      case "batch": {
        const { post, patch } = one;
        return this.#apply(one, () => this.#take(Buffer.from(JSON.stringify({ post, patch }))));
      }
      case "one": {
        const { id, ...rest } = one.run;
        // A default start, which would otherwise be the current time.
        const kept = { start_time: 0, ...rest };
        one.without.forEach((name) => Reflect.deleteProperty(kept, name));
        const body = Buffer.from(JSON.stringify({ ...kept, start_time: kept.start_time ?? 0 }));
        return this.#apply(
          one,
          () => parseOneRun(body, one.operation, { position: "optional", pathId: id }).batch,
        );
      }
      case "spans": {
        const spans = one.spans.map(({ id, parent, kind }) =>
          otlpSpan({
            id,
            attributes: { "langsmith.span.kind": kind },
            ...(parent === id ? {} : { parent }),
          }),
        );
        return this.#apply(one, () => toBatch(readSpans(spans)).batch);
      }
      case "sweep": {
        const { retention } = this.#writers;
        await retention.set(one.tenant, { projectId: null, days: 1 });
        let deleted = 1;
        while (deleted > 0) {
          ({ deleted } = await retention.sweep(one.before + dayMicros, null));
        }
        await retention.clear(one.tenant, null);
        return "swept";
      }
      default:
        return this.#change(one);
    }
  }

  #apply({ tenant: tenantId }: Step, take: () => RunBatch): unknown {
    const batch = take();
    return this.#writers.runs.apply(tenantId, structuredClone(packPosts(batch)));
  }

  /** A write of a resource; if it fails, only this write is rolled back. */
  async #change(one: Step & { readonly name: string }): Promise<unknown> {
    const { kind, tenant: tenantId, name } = one;
    const { projects, runs } = this.#writers;
    const nameJson = JSON.stringify(name);
    const [found] = parseRows(
      this.db
        .prepare("SELECT id FROM projects WHERE tenant_id = ? AND name_json = ?")
        .raw()
        .all([tenantId, nameJson]),
    );
    const id = found === undefined ? randomUUID() : String(found[0]);
    this.db.exec("SAVEPOINT one");
    try {
      if (kind === "delete") {
        (await projects.delete(tenantId, id)).finish();
      } else if (kind === "rename") {
        const changes = { description: null, endMicros: null, extra: null };
        await projects.update(tenantId, id, { name: name === "p" ? "s" : "p", ...changes });
      } else {
        const body = Buffer.from(JSON.stringify({ id: randomUUID(), session_name: name }));
        this.#apply(one, () => parseOneRun(body, "post", { position: "optional" }).batch);
        throw new RequestError(500, "it fails");
      }
      this.db.exec("RELEASE one");
      return "done";
    } catch (cause) {
      this.db.exec("ROLLBACK TO one; RELEASE one");
      runs.clearCaches();
      return cause instanceof RequestError ? cause.message : cause;
    }
  }
}

/** Payloads of runs that were never posted: the clients got a success, and no query reads them. */
const orphans =
  "SELECT id FROM payloads EXCEPT SELECT p.id FROM payloads p JOIN runs USING (trace_id, id)";

const groups = fc.array(
  fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 5 }),
    /**
     * What happens before the group is written: a transaction with that many steps is rolled back, or the writers are
     * recreated.
     */
    mishap: fc.constantFrom(undefined, undefined, 1, 5, "restart" as const),
  }),
  { minLength: 1, maxLength: 10 },
);

test("the index does not depend on how batches and transactions arrive, and covers all stored runs", async () => {
  await fc.assert(
    fc.asyncProperty(groups, async (received) => {
      const alone = new WriterFixture((body) => parseBatch(body).batch);
      const grouped = new WriterFixture((body) => decodeBatch([body]).batch);
      for (const { steps, mishap } of received) {
        if (typeof mishap === "number") {
          await grouped.transact(steps.slice(0, mishap), "ROLLBACK");
        } else if (mishap === "restart") {
          grouped.restart();
        }
        const responses: unknown[] = [];
        for (const one of steps) {
          responses.push(...(await alone.transact([one], "COMMIT")));
        }
        expect(await grouped.transact(steps, "COMMIT")).toEqual(responses);
        expect(missingFacets(alone.db)).toEqual([]);
        expect(alone.db.prepare(orphans).raw().all()).toEqual([]);
      }
      expect(facetIndex(grouped.db)).toEqual(facetIndex(alone.db));
      [alone, grouped].forEach(({ db }) => db.close());
    }),
    { numRuns: 25 },
  );
});

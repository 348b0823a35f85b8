import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseBatch } from "../../ingest/parse-batch.ts";
import type { IngestResult } from "../../run-record.ts";
import { createWriters } from "../../../store/repositories.ts";
import { packPosts, unpackPost } from "../post-rows.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import { openWriter } from "../../../store/schema.ts";
import { readDefaultTenantId } from "../../../storage/sqlite/open-database.ts";
import type { WireObject } from "../../../../tests/support/store-fixture.ts";
import { patchOf } from "../../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";

interface Body {
  readonly post?: readonly WireObject[];
  readonly patch?: readonly WireObject[];
}

const parse = (body: Body) => parseBatch(Buffer.from(JSON.stringify(body))).batch;

const sortByJson = <T>(list: readonly T[]): T[] =>
  list.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

type WriteMode = "packed" | "one by one";

/** Runs in an in-memory database; `mode` selects how batches are written. */
class RunsFixture {
  readonly #db = openWriter(":memory:");
  readonly #writers = createWriters(this.#db);
  readonly #tenantId = readDefaultTenantId(this.#db);
  readonly #mode: WriteMode;

  constructor(mode: WriteMode) {
    this.#mode = mode;
  }

  send(body: Body): IngestResult {
    const batch = parse(body);
    const writtenBatch = this.#mode === "packed" ? packPosts(batch) : batch;
    const { rejected, ...counts } = this.#writers.runs.apply(this.#tenantId, writtenBatch);
    // The order of the rejections does not matter.
    return { ...counts, rejected: sortByJson(rejected) };
  }

  /** Returns all rows of runs, with project names instead of project ids, because the ids are random. */
  read(): unknown {
    const named = "(SELECT name_json FROM projects p WHERE p.id = t.project_id)";
    const rows = (sql: string): unknown[][] =>
      parseRows(this.#db.prepare(sql).raw().all()).map((row) => [...row]);
    return {
      runs: rows(`SELECT ${named}, t.* FROM runs t ORDER BY id`).map((row: unknown[]) =>
        row.map((value, at) => (at === 3 ? null : value)),
      ),
      payloads: rows("SELECT trace_id, id, digest, body FROM payloads ORDER BY 1, 2, 3"),
      counts: rows(
        `SELECT ${named}, is_root, block, runs, errors FROM run_counts t WHERE runs > 0 ORDER BY 1, 2, 3`,
      ),
    };
  }

  facets(): readonly string[] {
    const rows = this.#db.prepare("SELECT facet, block FROM run_facets ORDER BY 1, 2").raw().all();
    return rows.map(String);
  }

  activity(): unknown {
    return this.#writers.runs.activity
      .takeCounts()
      .map(({ projectId: _id, tenantId: _tenant, ...counts }) => ({
        ...counts,
        latencies: counts.latencies.toSorted(([a], [b]) => a - b),
      }))
      .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
}

const ids = Array.from({ length: 90 }, () => randomUUID());
const roots = ids.slice(0, 5).map((id, at) => wireRun({ id, micros: someMicros + at * 70_000 }));
/** Runs of a few traces. Some ids occur in two traces, of which only one may have the run. */
const positions = ids.flatMap((id, at) => {
  const own = roots[at];
  const [first, second] = [roots[at % roots.length], roots[(at + 1) % roots.length]];
  const micros = someMicros + at * 1_000;
  const child = wireRun({ id, micros, ...(first === undefined ? {} : { parent: first }) });
  const moved = wireRun({ id, micros, ...(second === undefined ? {} : { parent: second }) });
  return own === undefined ? [child, ...(at % 7 === 0 ? [moved] : [])] : [own];
});

const details = fc.record(
  {
    name: fc.constantFrom("one", "two", "\0\ud800"),
    session_name: fc.constantFrom("p", "q", "\ud800"),
    session_id: fc.constantFrom(null, randomUUID()),
    start_time: fc.constantFrom("2026-11-21T10:11:12Z", null),
    end_time: fc.constantFrom("2026-11-21T10:11:14.5Z", null),
    error: fc.constantFrom(null, "", "broken"),
    tags: fc.constantFrom(["a"], ["a", "b"]),
    outputs: fc.constantFrom({ a: 1 }, { usage_metadata: { input_tokens: 3, output_tokens: 4 } }),
    reference_example_id: fc.constantFrom(null, randomUUID()),
  },
  { requiredKeys: [] },
);

const operation = fc
  .tuple(fc.constantFrom("post", "post", "post", "patch"), fc.constantFrom(...positions), details)
  .map(([kind, position, fields]) => ({
    kind,
    run: kind === "post" ? { ...position, ...fields } : patchOf(position, fields),
  }));

const body = fc.array(operation, { minLength: 1, maxLength: 150 }).map((operations): Body => {
  const of = (wanted: string): WireObject[] =>
    operations.filter(({ kind }) => kind === wanted).map(({ run }) => run);
  return { post: of("post"), patch: of("patch") };
});

describe("posts that are written as a group", () => {
  test("have the same result as posts written one by one, whatever was received before", () => {
    fc.assert(
      fc.property(fc.array(body, { minLength: 1, maxLength: 4 }), (bodies) => {
        const [packed, single] = [new RunsFixture("packed"), new RunsFixture("one by one")];
        for (const one of bodies) {
          expect(packed.send(one)).toEqual(single.send(one));
        }
        expect(packed.read()).toEqual(single.read());
        expect(packed.activity()).toEqual(single.activity());
        expect(packed.facets()).toEqual(expect.arrayContaining([...single.facets()]));
      }),
      { numRuns: 60 },
    );
  });

  test("of every form in one batch have the same result as posts written one by one, even if some were received before", () => {
    const usage = { outputs: { usage_metadata: { input_tokens: 3, output_tokens: 4 } } };
    const forms = [{}, {}, usage, { reference_example_id: randomUUID() }, { error: "broken" }, {}];
    const posts = Array.from({ length: 300 }, (_, at) => ({
      ...wireRun({ micros: someMicros + at * 1_000 }),
      session_name: at % 50 === 0 ? "q" : "p",
      outputs: { at },
      ...forms[at % forms.length],
    }));
    const others = posts.map((post) => ({ ...post, name: "other", ...usage }));
    const [packed, single] = [new RunsFixture("packed"), new RunsFixture("one by one")];
    const [few, more] = [others.slice(100, 103), others.slice(201, 204)];
    for (const post of [few, [...more, ...posts], posts]) {
      expect(packed.send({ post })).toEqual(single.send({ post }));
    }
    expect(packed.read()).toEqual(single.read());
    expect(packed.activity()).toEqual(single.activity());
  });

  test("are unpacked as they were packed", () => {
    fc.assert(
      fc.property(body, ({ post = [] }) => {
        const records = parse({ post }).records.filter(
          ({ columns: { projectId } }) => typeof projectId !== "string",
        );
        const packed = packPosts({ ...parse({ post }), records });
        const { posts } = packed;
        const unpacked = records.flatMap((_, at) =>
          posts === undefined ? [] : unpackPost(posts, at),
        );
        expect(packed.records).toEqual([]);
        expect(packPosts({ ...packed, records: unpacked })).toEqual(packed);
      }),
    );
  });

  test("are written as rows unless an earlier record in the batch has the same run, or stored rows must be read", () => {
    const [a, b, c, d] = [wireRun(), wireRun(), wireRun(), wireRun()];
    const { records: posts, ...others } = parse({
      post: [a, b, { ...c, session_id: randomUUID() }],
    });
    const { records: patches } = parse({ patch: [patchOf(b, { name: "x" }), patchOf(d, {})] });
    const { records: late } = parse({ post: [b, d] });
    const packed = packPosts({ ...others, records: [...posts, ...patches, ...late] });
    expect(packed.posts?.facetIndexes).toHaveLength(2);
    expect(packed.records.map(({ operation: kind, id }) => [kind, id])).toEqual([
      ["post", c.id],
      ["patch", b.id],
      ["patch", d.id],
      ["post", b.id],
      ["post", d.id],
    ]);
  });
});

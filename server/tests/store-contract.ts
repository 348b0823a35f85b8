import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { beforeEach, afterEach, expect, test } from "vitest";
import { MultipartBatch } from "../src/ingest/multipart-batch.ts";
import { parseBatch, parseOneRun } from "../src/ingest/parse-batch.ts";
import type { IngestResult } from "../src/store/run-record.ts";
import type { RunFilter, RunQuery, Store } from "../src/store/run-store.ts";
import { toRunJson } from "../src/view/run-json.ts";
import { someMicros, wireRun } from "./support/wire-runs.ts";

type WireObject = Readonly<Record<string, unknown>>;

/** What every engine does. */
export function describeStore(open: () => Promise<Store>): void {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const send = (batch: {
    post?: readonly unknown[];
    patch?: readonly unknown[];
  }): Promise<IngestResult> => store.ingest(parseBatch(Buffer.from(JSON.stringify(batch))).batch);
  const sendOne = (
    operation: "post" | "patch",
    run: WireObject,
    pathId?: string,
  ): Promise<IngestResult> =>
    store.ingest(
      parseOneRun(Buffer.from(JSON.stringify(run)), operation, {
        place: "optional",
        ...(pathId === undefined ? {} : { pathId }),
      }).batch,
    );
  const read = async (id: string): Promise<WireObject> => {
    const run = await store.findRun(id);
    return run === undefined ? {} : (JSON.parse(toRunJson(run).toString()) as WireObject);
  };
  const query = async (filter: RunFilter, rest: Partial<RunQuery> = {}): Promise<string[]> => {
    const page = await store.queryRuns({
      filter,
      order: "asc",
      limit: 100,
      withChildren: false,
      ...rest,
    });
    return page.runs.map(({ row }) => row.name);
  };
  const patchOf = ({ id, trace_id, dotted_order }: WireObject, fields: WireObject): WireObject => ({
    id,
    trace_id,
    dotted_order,
    ...fields,
  });

  test("a run that was never received is not found", async () => {
    expect(await store.findRun(randomUUID())).toBeUndefined();
  });

  test("a posted run is found with all that it held", async () => {
    const run = wireRun({
      name: "one",
      inputs: { q: [1, null] },
      tags: ["a"],
      custom: { kept: true },
    });
    expect(await send({ post: [run] })).toEqual({ accepted: 1, duplicates: 0, rejected: [] });
    expect(await read(run.id)).toMatchObject({
      ...run,
      status: "pending",
      start_time: "2026-11-21T10:11:12.345678Z",
      session_name: "default",
    });
  });

  test("a patch fills in and wins over the post", async () => {
    const run = wireRun({ name: "before", inputs: { a: 1 }, tags: ["t"] });
    const patch = patchOf(run, {
      name: "after",
      outputs: { b: 2 },
      end_time: "2026-11-21T10:11:13Z",
    });
    await send({ post: [run], patch: [patch] });
    expect(await read(run.id)).toMatchObject({
      name: "after",
      inputs: { a: 1 },
      outputs: { b: 2 },
      tags: ["t"],
      status: "success",
      end_time: "2026-11-21T10:11:13.000000Z",
    });
  });

  test("null in a patch clears, an absent member changes nothing", async () => {
    const run = wireRun({
      name: "one",
      error: "boom",
      inputs: { a: 1 },
      end_time: 1_795_255_873_000,
    });
    await send({ post: [run], patch: [patchOf(run, { error: null, end_time: null, name: null })] });
    expect(await read(run.id)).toMatchObject({
      error: null,
      end_time: null,
      name: "unnamed",
      status: "pending",
      inputs: { a: 1 },
    });
  });

  test("an error that is null or empty is none", async () => {
    const runs = [wireRun({ error: null }), wireRun({ error: "" }), wireRun({ error: "boom" })];
    await send({ post: runs });
    const states = await Promise.all(runs.map(async ({ id }) => (await read(id))["status"]));
    expect(states).toEqual(["pending", "pending", "error"]);
  });

  const fieldValue = fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: null });
  const fields = fc.record(
    {
      name: fc.option(fc.string(), { nil: null }),
      end_time: fc.option(fc.integer({ min: 1_795_255_873_000, max: 1_795_255_899_000 }), {
        nil: null,
      }),
      error: fc.option(fc.constantFrom("", "boom"), { nil: null }),
      session_name: fc.constantFrom("one", "two"),
      inputs: fieldValue,
      outputs: fieldValue,
      extra: fieldValue,
      tags: fieldValue,
      other: fieldValue,
    },
    { requiredKeys: [] },
  );

  test("however a post and its patches interleave, the run is the same", async () => {
    await fc.assert(
      fc.asyncProperty(
        fields,
        fc.array(fields, { maxLength: 3 }),
        fc.nat(3),
        async (post, patches, place) => {
          const merged = async (at: number): Promise<WireObject> => {
            const run = wireRun();
            const operations = patches.map((patch) => ({ patch: [patchOf(run, patch)] }));
            const posted = [
              ...operations.slice(0, at),
              { post: [{ ...run, ...post }] },
              ...operations.slice(at),
            ];
            for (const operation of posted) {
              // One after the other: the order is what the test is about.
              // oxlint-disable-next-line no-await-in-loop
              await send(operation);
            }
            const {
              id: _id,
              trace_id: _trace,
              dotted_order: _order,
              app_path: _path,
              ...rest
            } = await read(run.id);
            return rest;
          };
          expect(await merged(place)).toEqual(await merged(0));
        },
      ),
      { numRuns: 40 },
    );
  });

  test("a post received twice counts once and changes nothing", async () => {
    const run = wireRun({ name: "first" });
    await send({ post: [run] });
    const again = { ...run, name: "second" };
    expect(await send({ post: [again, wireRun()] })).toMatchObject({ accepted: 1, duplicates: 1 });
    expect(await read(run.id)).toMatchObject({ name: "first" });
  });

  test("a post twice in one batch counts once", async () => {
    const run = wireRun();
    expect(await send({ post: [run, run] })).toEqual({ accepted: 1, duplicates: 1, rejected: [] });
  });

  test("the same patch twice counts once, even after another one", async () => {
    const run = wireRun();
    const one = patchOf(run, { name: "one" });
    await send({ post: [run], patch: [one, patchOf(run, { name: "two" })] });
    expect(await send({ patch: [one] })).toEqual({ accepted: 0, duplicates: 1, rejected: [] });
    expect(await read(run.id)).toMatchObject({ name: "two" });
  });

  test("a duplicate before the post came is one too", async () => {
    const run = wireRun();
    const patch = patchOf(run, { outputs: { a: 1 } });
    expect(await send({ patch: [patch, patch] })).toMatchObject({ accepted: 1, duplicates: 1 });
    expect(await send({ post: [run] })).toMatchObject({ accepted: 1 });
    expect(await read(run.id)).toMatchObject({ name: "a run", outputs: { a: 1 } });
  });

  test("a run can't move to another trace; its neighbours are stored", async () => {
    const run = wireRun();
    await send({ post: [run] });
    const elsewhere = { ...wireRun({ id: run.id, parent: wireRun() }), name: "moved" };
    const { accepted, rejected } = await send({ post: [wireRun(), elsewhere, wireRun()] });
    expect(accepted).toBe(2);
    expect(rejected).toEqual([
      {
        id: run.id,
        operation: "post",
        reason: `run ${run.id} was received before in trace ${run.id}, not ${elsewhere.trace_id}`,
      },
    ]);
  });

  test("a project is made on first use, once, and named by id afterwards", async () => {
    const name = 'evals "\ud800"; DROP TABLE projects';
    await send({ post: [wireRun({ session_name: name }), wireRun({ session_name: name })] });
    const [project, ...others] = await store.listProjects({ name, limit: 10, offset: 0 });
    expect(others).toEqual([]);
    expect(project).toMatchObject({ name, tenantId: store.tenantId });
    const id = project?.id ?? "";
    await send({ post: [wireRun({ name: "by id", session_id: id })] });
    expect(await query({ projectIds: [id] })).toHaveLength(3);
    expect(await store.findProject(id)).toMatchObject({ name });
  });

  test("a project id that does not exist is a reason", async () => {
    const missing = randomUUID();
    const { accepted, rejected } = await send({
      post: [wireRun({ session_id: missing }), wireRun()],
    });
    expect(accepted).toBe(1);
    expect(rejected[0]?.reason).toBe(`session_id: there is no project ${missing}`);
  });

  test("projects are listed by name and in pages", async () => {
    await send({ post: ["c", "a", "b"].map((name) => wireRun({ session_name: name })) });
    const list = async (rest: { limit: number; offset: number; nameContains?: string }) =>
      (await store.listProjects(rest)).map(({ name }) => name);
    expect(await list({ limit: 2, offset: 0 })).toEqual(["a", "b"]);
    expect(await list({ limit: 2, offset: 2 })).toEqual(["c"]);
    expect(await list({ limit: 5, offset: 0, nameContains: "B" })).toEqual(["b"]);
    expect(await store.findProject(randomUUID())).toBeUndefined();
  });

  test("a post without a dotted order gets its place below its parent", async () => {
    const root = randomUUID();
    const child = randomUUID();
    await sendOne("post", { id: root, name: "root", start_time: "2026-11-21T10:11:12.345678Z" });
    await sendOne("post", { id: child, parent_run_id: root, start_time: 1_795_255_873_000 });
    expect(await read(root)).toMatchObject({
      trace_id: root,
      dotted_order: `20261121T101112345678Z${root}`,
    });
    expect(await read(child)).toMatchObject({
      trace_id: root,
      dotted_order: `20261121T101112345678Z${root}.20261121T101113000000Z${child}`,
      parent_run_ids: [root],
    });
    expect(await read(root)).toMatchObject({
      child_run_ids: [child],
      direct_child_run_ids: [child],
    });
  });

  test("below a parent that is unknown the parent gets this run's start", async () => {
    const [trace, parent, id] = [randomUUID(), randomUUID(), randomUUID()];
    const start = { start_time: "2026-11-21T10:11:12.345678Z" };
    await sendOne("post", { id, parent_run_id: parent, trace_id: trace, ...start });
    const stamp = "20261121T101112345678Z";
    expect(await read(id)).toMatchObject({
      trace_id: trace,
      parent_run_id: parent,
      dotted_order: `${stamp}${trace}.${stamp}${parent}.${stamp}${id}`,
    });
  });

  test("a patch that names no trace waits for its post under the right key", async () => {
    const parent = wireRun({ name: "parent" });
    const child = wireRun({ parent, name: "child", micros: someMicros + 1 });
    await sendOne("patch", { outputs: { a: 1 } }, child.id);
    await sendOne("patch", { outputs: { a: 2 } }, child.id);
    await send({ post: [parent, child] });
    expect(await read(child.id)).toMatchObject({
      trace_id: parent.id,
      name: "child",
      outputs: { a: 2 },
    });
    expect(await query({ traceId: parent.id })).toEqual(["parent", "child"]);
  });

  test("descendants are listed in execution order", async () => {
    const root = wireRun();
    const late = wireRun({ parent: root, micros: someMicros + 20 });
    const early = wireRun({ parent: root, micros: someMicros + 10 });
    const deep = wireRun({ parent: early, micros: someMicros + 30 });
    await send({ post: [late, deep, root, early] });
    expect(await read(root.id)).toMatchObject({
      child_run_ids: [early.id, deep.id, late.id],
      direct_child_run_ids: [early.id, late.id],
    });
  });

  test("every filter leaves out what does not pass", async () => {
    const example = randomUUID();
    const root = wireRun({ name: "root", session_name: "p", run_type: "llm", micros: someMicros });
    const child = wireRun({
      name: "child",
      parent: root,
      session_name: "p",
      error: "boom",
      micros: someMicros + 1,
    });
    const other = wireRun({
      name: "other",
      session_name: "q",
      reference_example_id: example,
      micros: someMicros + 2,
    });
    await send({ post: [root, child, other] });
    const [p] = await store.listProjects({ name: "p", limit: 1, offset: 0 });
    expect(await query({})).toEqual(["root", "child", "other"]);
    expect(await query({ projectIds: [p?.id ?? ""] })).toEqual(["root", "child"]);
    expect(await query({ projectIds: [] })).toEqual([]);
    expect(await query({ ids: [child.id, other.id] })).toEqual(["child", "other"]);
    expect(await query({ traceId: root.id })).toEqual(["root", "child"]);
    expect(await query({ parentRunId: root.id })).toEqual(["child"]);
    expect(await query({ parentRunId: randomUUID() })).toEqual([]);
    expect(await query({ runType: "llm" })).toEqual(["root"]);
    expect(await query({ referenceExampleIds: [example] })).toEqual(["other"]);
    expect(await query({ isRoot: true })).toEqual(["root", "other"]);
    expect(await query({ isRoot: false })).toEqual(["child"]);
    expect(await query({ hasError: true })).toEqual(["child"]);
    expect(await query({ hasError: false })).toEqual(["root", "other"]);
    expect(await query({ startMicros: someMicros + 1 })).toEqual(["child", "other"]);
    expect(await query({ endMicros: someMicros + 1 })).toEqual(["root", "child"]);
    expect(await query({ projectIds: [p?.id ?? ""], isRoot: true, hasError: false })).toEqual([
      "root",
    ]);
  });

  test("text is found in names and payloads, in either case, and is no pattern", async () => {
    await send({
      post: [
        wireRun({ name: "Alpha", micros: someMicros }),
        wireRun({ name: "b", inputs: { q: 'say "50%"\n' }, micros: someMicros + 1 }),
        wireRun({ name: "c'; DROP TABLE runs", micros: someMicros + 2 }),
      ],
    });
    expect(await query({ text: "alph" })).toEqual(["Alpha"]);
    expect(await query({ text: 'SAY "50%"\n' })).toEqual(["b"]);
    expect(await query({ text: "5_%" })).toEqual([]);
    expect(await query({ text: "'; drop" })).toEqual(["c'; DROP TABLE runs"]);
  });

  test("pages follow one another without a gap or a repeat, runs of one start among them", async () => {
    const names = Array.from({ length: 25 }, (_, index) => `run-${index}`);
    await send({
      post: names.map((name, index) =>
        wireRun({ name, micros: someMicros + Math.floor(index / 4) }),
      ),
    });
    for (const order of ["asc", "desc"] as const) {
      const seen: string[] = [];
      let after: RunQuery["after"];
      do {
        // A page needs the cursor of the one before it.
        // oxlint-disable-next-line no-await-in-loop
        const page = await store.queryRuns({
          filter: {},
          order,
          limit: 7,
          withChildren: false,
          ...(after === undefined ? {} : { after }),
        });
        seen.push(...page.runs.map(({ row }) => row.name));
        after = page.next;
      } while (after !== undefined);
      expect(seen.toSorted()).toEqual(names.toSorted());
      const all = await query({}, { order });
      expect(seen).toEqual(all);
    }
  });

  test("a page that ends with the last run has no next one", async () => {
    await send({ post: [wireRun(), wireRun()] });
    const page = await store.queryRuns({ filter: {}, order: "asc", limit: 2, withChildren: false });
    expect(page.runs).toHaveLength(2);
    expect(page.next).toBeUndefined();
  });

  test("statistics count, and take latencies of ended runs only", async () => {
    const ends = [1, 2, 3, 4].map((seconds) => 1_795_255_872_345.678 + seconds * 1_000);
    await send({
      post: [...ends.map((end_time) => wireRun({ end_time })), wireRun({ error: "boom" })],
    });
    expect(await store.runStatistics({})).toEqual({
      runCount: 5,
      errorCount: 1,
      latencyP50: 2,
      latencyP99: 4,
      lastStartMicros: someMicros,
    });
  });

  test("statistics of nothing are nothing", async () => {
    expect(await store.runStatistics({})).toEqual({
      runCount: 0,
      errorCount: 0,
      latencyP50: null,
      latencyP99: null,
      lastStartMicros: null,
    });
  });

  test("a share has one token until it is taken back", async () => {
    const run = wireRun();
    await send({ post: [run] });
    const token = await store.shareRun(run.id);
    expect(await store.shareRun(run.id)).toBe(token);
    expect((await store.findSharedRun(token ?? ""))?.row.id).toBe(run.id);
    expect((await store.findRun(run.id))?.shareToken).toBe(token);
    await store.unshareRun(run.id);
    expect(await store.findSharedRun(token ?? "")).toBeUndefined();
    expect(await store.shareRun(run.id)).not.toBe(token);
    expect(await store.shareRun(randomUUID())).toBeUndefined();
  });

  test("an attachment of an unknown run is a reason, one of a known run is not", async () => {
    const run = wireRun();
    const sendAttachment = (id: string): Promise<IngestResult> => {
      const batch = new MultipartBatch();
      const bytes = Buffer.from([0, 255]);
      batch.add({ name: `attachment.${id}.a`, contentType: "image/png", bytes, fault: undefined });
      return store.ingest(batch.build().batch);
    };
    await send({ post: [run] });
    expect(await sendAttachment(run.id)).toMatchObject({ rejected: [] });
    const unknown = randomUUID();
    expect((await sendAttachment(unknown)).rejected).toEqual([
      { id: unknown, operation: null, reason: `attachment a: run ${unknown} was not received` },
    ]);
  });

  test("what texts a run holds comes back to the last escape", async () => {
    const run = wireRun();
    const raw = `{"id":"${run.id}","trace_id":"${run.id}","dotted_order":"${run.dotted_order}","name":"\\ud800\\u0000<b>","inputs":{"n":1.50,"big":12345678901234567890,"s":"\\ud800\\u0000é"}}`;
    await store.ingest(parseBatch(Buffer.from(`{"post":[${raw}]}`)).batch);
    const stored = await store.findRun(run.id);
    const json = stored === undefined ? "" : toRunJson(stored).toString();
    expect(json).toContain('"name":"\\ud800\\u0000<b>"');
    expect(json).toContain('"inputs":{"n":1.50,"big":12345678901234567890,"s":"\\ud800\\u0000é"}');
  });
}

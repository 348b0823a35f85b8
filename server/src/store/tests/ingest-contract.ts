import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { MultipartBatch } from "../../runs/ingest/multipart-batch.ts";
import { parseBatch } from "../../runs/ingest/parse-batch.ts";
import type { IngestResult } from "../../runs/run-record.ts";
import { toRunJson } from "../../runs/serializers/run-json.ts";
import { patchOf } from "../../../tests/support/store-fixture.ts";
import type {
  RunTestStore,
  StoreFixture,
  WireObject,
} from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

/** What every storage engine must do with runs that it receives. `open` gives each test a tenant without rows. */
export function describeIngest(open: () => Promise<StoreFixture<RunTestStore>>): void {
  let fixture: StoreFixture<RunTestStore>;
  beforeEach(async () => {
    fixture = await open();
  });

  test("a run that was never received is not found", async () => {
    expect(await fixture.store.read.runs.find(fixture.tenantId, randomUUID())).toBeUndefined();
  });

  test("a batch without runs is stored, and changes nothing", async () => {
    expect(await fixture.send({ post: [], patch: [] })).toEqual({
      accepted: 0,
      duplicates: 0,
      rejected: [],
    });
  });

  test("a posted run is found with everything that it contained", async () => {
    const run = wireRun({
      name: "one",
      inputs: { q: [1, null] },
      tags: ["a"],
      custom: { kept: true },
    });
    expect(await fixture.send({ post: [run] })).toEqual({
      accepted: 1,
      duplicates: 0,
      rejected: [],
    });
    expect(await fixture.read(run.id)).toMatchObject({
      ...run,
      status: "pending",
      start_time: "2026-11-21T10:11:12.345678Z",
      session_name: "default",
    });
  });

  test("a patch adds to the post and takes precedence over it", async () => {
    const run = wireRun({ name: "before", inputs: { a: 1 }, tags: ["t"] });
    const patch = patchOf(run, {
      name: "after",
      outputs: { b: 2 },
      end_time: "2026-11-21T10:11:13Z",
    });
    await fixture.send({ post: [run], patch: [patch] });
    expect(await fixture.read(run.id)).toMatchObject({
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
    await fixture.send({
      post: [run],
      patch: [patchOf(run, { error: null, end_time: null, name: null })],
    });
    expect(await fixture.read(run.id)).toMatchObject({
      error: null,
      end_time: null,
      name: "unnamed",
      status: "pending",
      inputs: { a: 1 },
    });
  });

  test("an error that is null or empty is no error", async () => {
    const runs = [wireRun({ error: null }), wireRun({ error: "" }), wireRun({ error: "boom" })];
    await fixture.send({ post: runs });
    const states = await Promise.all(
      runs.map(async ({ id }) => (await fixture.read(id))["status"]),
    );
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
              // Sequential: the test is about the order.
              await fixture.send(operation);
            }
            const {
              id: _id,
              trace_id: _trace,
              dotted_order: _order,
              app_path: _path,
              ...rest
            } = await fixture.read(run.id);
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
    await fixture.send({ post: [run] });
    const again = { ...run, name: "second" };
    expect(await fixture.send({ post: [again, wireRun()] })).toMatchObject({
      accepted: 1,
      duplicates: 1,
    });
    expect(await fixture.read(run.id)).toMatchObject({ name: "first" });
  });

  test("a run posted twice in one batch counts once", async () => {
    const run = wireRun();
    expect(await fixture.send({ post: [run, run] })).toEqual({
      accepted: 1,
      duplicates: 1,
      rejected: [],
    });
  });

  test("the same patch twice counts once, even after another one", async () => {
    const run = wireRun();
    const one = patchOf(run, { name: "one" });
    await fixture.send({ post: [run], patch: [one, patchOf(run, { name: "two" })] });
    expect(await fixture.send({ patch: [one] })).toEqual({
      accepted: 0,
      duplicates: 1,
      rejected: [],
    });
    expect(await fixture.read(run.id)).toMatchObject({ name: "two" });
  });

  test("a patch repeated before the post arrives is a duplicate too", async () => {
    const run = wireRun();
    const patch = patchOf(run, { outputs: { a: 1 } });
    expect(await fixture.send({ patch: [patch, patch] })).toMatchObject({
      accepted: 1,
      duplicates: 1,
    });
    expect(await fixture.send({ post: [run] })).toMatchObject({ accepted: 1 });
    expect(await fixture.read(run.id)).toMatchObject({ name: "a run", outputs: { a: 1 } });
  });

  test("a run can't move to another trace; its neighbours are stored", async () => {
    const run = wireRun();
    await fixture.send({ post: [run] });
    const elsewhere = { ...wireRun({ id: run.id, parent: wireRun() }), name: "moved" };
    const { accepted, rejected } = await fixture.send({ post: [wireRun(), elsewhere, wireRun()] });
    expect(accepted).toBe(2);
    expect(rejected).toEqual([
      {
        id: run.id,
        operation: "post",
        reason: `run ${run.id} was received before in trace ${run.id}, not ${elsewhere.trace_id}`,
      },
    ]);
  });

  test("a project is created on first use, once, and can be named by id afterwards", async () => {
    const name = 'evals "\ud800"; DROP TABLE projects';
    await fixture.send({
      post: [wireRun({ session_name: name }), wireRun({ session_name: name })],
    });
    const [project, ...others] = await fixture.store.read.projects.list(fixture.tenantId, {
      name,
      limit: 10,
      offset: 0,
    });
    expect(others).toEqual([]);
    expect(project).toMatchObject({ name, tenantId: fixture.tenantId });
    const id = project?.id ?? "";
    await fixture.send({ post: [wireRun({ name: "by id", session_id: id })] });
    expect(await fixture.query({ projectIds: [id] })).toHaveLength(3);
    expect(await fixture.store.read.projects.find(fixture.tenantId, id)).toMatchObject({
      name,
    });
  });

  test("an unknown project id is a reason for rejection", async () => {
    const missing = randomUUID();
    const { accepted, rejected } = await fixture.send({
      post: [wireRun({ session_id: missing }), wireRun()],
    });
    expect(accepted).toBe(1);
    expect(rejected[0]?.reason).toBe(`session_id: there is no project ${missing}`);
  });

  test("a post without a dotted order is placed below its parent", async () => {
    const root = randomUUID();
    const child = randomUUID();
    await fixture.sendOne("post", {
      id: root,
      name: "root",
      start_time: "2026-11-21T10:11:12.345678Z",
    });
    await fixture.sendOne("post", {
      id: child,
      parent_run_id: root,
      start_time: 1_795_255_873_000,
    });
    expect(await fixture.read(root)).toMatchObject({
      trace_id: root,
      dotted_order: `20261121T101112345678Z${root}`,
    });
    expect(await fixture.read(child)).toMatchObject({
      trace_id: root,
      dotted_order: `20261121T101112345678Z${root}.20261121T101113000000Z${child}`,
      parent_run_ids: [root],
    });
    expect(await fixture.read(root)).toMatchObject({
      child_run_ids: [child],
      direct_child_run_ids: [child],
    });
  });

  test("a parent that is unknown gets the start time of the child", async () => {
    const [trace, parent, id] = [randomUUID(), randomUUID(), randomUUID()];
    const start = { start_time: "2026-11-21T10:11:12.345678Z" };
    await fixture.sendOne("post", { id, parent_run_id: parent, trace_id: trace, ...start });
    const stamp = "20261121T101112345678Z";
    expect(await fixture.read(id)).toMatchObject({
      trace_id: trace,
      parent_run_id: parent,
      dotted_order: `${stamp}${trace}.${stamp}${parent}.${stamp}${id}`,
    });
  });

  test("a patch without a trace waits for its post under the right key", async () => {
    const parent = wireRun({ name: "parent" });
    const child = wireRun({ parent, name: "child", micros: someMicros + 1 });
    await fixture.sendOne("patch", { outputs: { a: 1 } }, child.id);
    await fixture.sendOne("patch", { outputs: { a: 2 } }, child.id);
    await fixture.send({ post: [parent, child] });
    expect(await fixture.read(child.id)).toMatchObject({
      trace_id: parent.id,
      name: "child",
      outputs: { a: 2 },
    });
    expect(await fixture.query({ traceId: parent.id })).toEqual(["parent", "child"]);
  });

  test("an attachment of an unknown run is rejected, one of a known run is not", async () => {
    const run = wireRun();
    const sendAttachment = (id: string): Promise<IngestResult> => {
      const batch = new MultipartBatch();
      const bytes = Buffer.from([0, 255]);
      batch.add({ name: `attachment.${id}.a`, contentType: "image/png", bytes, fault: undefined });
      return fixture.store.ingest(fixture.tenantId, batch.build().batch);
    };
    await fixture.send({ post: [run] });
    expect(await sendAttachment(run.id)).toMatchObject({ rejected: [] });
    const unknown = randomUUID();
    expect((await sendAttachment(unknown)).rejected).toEqual([
      { id: unknown, operation: null, reason: `attachment a: run ${unknown} was not received` },
    ]);
  });

  test("texts of a run are returned unchanged, including every escape", async () => {
    const run = wireRun();
    const raw = `{"id":"${run.id}","trace_id":"${run.id}","dotted_order":"${run.dotted_order}","name":"\\ud800\\u0000<b>","inputs":{"n":1.50,"big":12345678901234567890,"s":"\\ud800\\u0000é"}}`;
    await fixture.store.ingest(
      fixture.tenantId,
      parseBatch(Buffer.from(`{"post":[${raw}]}`)).batch,
    );
    const stored = await fixture.store.read.runs.find(fixture.tenantId, run.id);
    const json = stored === undefined ? "" : toRunJson(stored).toString();
    expect(json).toContain('"name":"\\ud800\\u0000<b>"');
    expect(json).toContain('"inputs":{"n":1.50,"big":12345678901234567890,"s":"\\ud800\\u0000é"}');
  });
}

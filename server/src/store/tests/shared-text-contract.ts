import * as fc from "fast-check";
import { chunkCode } from "millrace/model";
import { beforeEach, expect, test } from "vitest";
import { checkFilter } from "../../filter/checker.ts";
import { runFields } from "../../filter/fields.ts";
import { maxDepth } from "../../runs/shared-texts/divide-payload.ts";
import { ChunkedSender, textChunk } from "../../../tests/support/chunked-runs.ts";
import type { ChunkedOperation } from "../../../tests/support/chunked-runs.ts";
import { patchOf } from "../../../tests/support/store-fixture.ts";
import type { RunTestStore, StoreFixture } from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

/** A store, and what the tests need to know of its shared texts. */
export interface SharedTextFixture {
  readonly open: () => Promise<StoreFixture<RunTestStore>>;
  /** The number of shared texts of a tenant, and of the payloads that refer to some. */
  readonly count: (
    tenantId: string,
  ) => Promise<{ readonly texts: number; readonly payloads: number }>;
  /** Deletes all unused texts. */
  readonly sweep: () => Promise<void>;
  /**
   * How many random orders of operations are tried.
   * @defaultValue 40
   */
  readonly randomOrders?: number;
}

const message = (turn: number): object => ({
  role: turn % 2 === 0 ? "user" : "assistant",
  content: `turn ${turn} ${'水車 "said" '.repeat(16)}`,
});
const messages = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, turn) => message(turn));
const extra = { metadata: { deployment: "blue ".repeat(80) } };

/** What every engine must do with content that repeats. */
export function describeSharedTexts({
  open,
  count,
  sweep,
  randomOrders = 40,
}: SharedTextFixture): void {
  let fixture: StoreFixture<RunTestStore>;
  let sender: ChunkedSender;
  beforeEach(async () => {
    fixture = await open();
    sender = new ChunkedSender(fixture.tenantId);
  });

  const send = async (
    operations: readonly ChunkedOperation[],
    target = fixture,
    chunked = sender,
  ): Promise<void> => {
    const { rejected } = await target.store.ingest(
      target.tenantId,
      chunked.createBatch(operations),
    );
    expect(rejected).toEqual([]);
  };
  const readBodies = async (id: string, target = fixture): Promise<readonly string[]> => {
    const run = await target.store.read.runs.find(target.tenantId, id);
    return (run?.bodies ?? []).map((body) => Buffer.from(body).toString());
  };
  /** The runs of a conversation in one trace: each has all messages before it. */
  const createTurns = (turns: number, project = "chat") => {
    const root = wireRun({ session_name: project, inputs: { question: "q" }, extra });
    return [
      root,
      ...Array.from({ length: turns }, (_, turn) =>
        wireRun({
          parent: root,
          micros: someMicros + turn + 1,
          name: `turn ${turn}`,
          session_name: project,
          inputs: { model: "m", messages: messages(2 * turn + 1) },
          outputs: { message: message(2 * turn + 1) },
          extra,
        }),
      ),
    ];
  };
  const bodyOf = ({ inputs, outputs, extra: ownExtra }: Record<string, unknown>): string =>
    JSON.stringify({ inputs, outputs, extra: ownExtra });
  const deleteRuns = async (ids: readonly string[]): Promise<void> => {
    let remaining = ids;
    while (remaining.length > 0) {
      remaining = (await fixture.store.write.runs.deleteTrees(fixture.tenantId, remaining))
        .remainingIds;
    }
  };

  test("the runs of a conversation share its texts, and each is read as it was sent", async () => {
    const runs = createTurns(12);
    for (const run of runs) {
      // Sequential: each turn is a request of its own.
      await send([{ run }]);
    }
    for (const run of runs) {
      expect(await readBodies(run.id)).toEqual([bodyOf(run)]);
    }
    // A list for each turn but the first, and the metadata.
    expect(await count(fixture.tenantId)).toEqual({ texts: 12, payloads: 12 });
  });

  test("one request with a whole conversation shares its texts, too", async () => {
    const runs = createTurns(12);
    await send(runs.map((run) => ({ run })));
    for (const run of runs) {
      expect(await readBodies(run.id)).toEqual([bodyOf(run)]);
    }
    expect(await count(fixture.tenantId)).toEqual({ texts: 12, payloads: 12 });
  });

  test("long content is shared between the traces of a tenant, and with no other tenant", async () => {
    const other = await open();
    const createRun = (turns: number) => wireRun({ inputs: { messages: messages(turns) } });
    const [first, second, foreign] = [createRun(60), createRun(63), createRun(60)];
    await send([{ run: first }]);
    await send([{ run: second }]);
    expect(await count(fixture.tenantId)).toEqual({ texts: 2, payloads: 2 });
    expect(await count(other.tenantId)).toEqual({ texts: 0, payloads: 0 });
    await send([{ run: foreign }], other, new ChunkedSender(other.tenantId));
    expect(await count(other.tenantId)).toEqual({ texts: 1, payloads: 1 });
    await deleteRuns([first.id, second.id]);
    await sweep();
    expect(await count(fixture.tenantId)).toEqual({ texts: 0, payloads: 0 });
    expect(await count(other.tenantId)).toEqual({ texts: 1, payloads: 1 });
    expect(await readBodies(foreign.id, other)).toEqual([
      JSON.stringify({ inputs: inputsOf(foreign) }),
    ]);
  });

  test("content that does not repeat, and content of clients that send it inline, is stored whole", async () => {
    await send([{ run: wireRun({ inputs: { messages: messages(3) }, extra }) }]);
    await fixture.send({ post: createTurns(4) });
    expect(await count(fixture.tenantId)).toEqual({ texts: 0, payloads: 0 });
  });

  test("filters, text search and lists read runs that share texts", async () => {
    const runs = createTurns(6);
    await send(runs.map((run) => ({ run })));
    const find = (filter: string): Promise<string[]> =>
      fixture.query({ runFilters: [checkFilter(filter, runFields)] });
    const fromThird = ["turn 3", "turn 4", "turn 5"];
    expect(await fixture.query({ text: "turn 6 水車" })).toEqual(fromThird);
    expect(await find('search("turn 6 水車")')).toEqual(fromThird);
    expect(await find('and(eq(metadata_key, "deployment"), eq(run_type, "chain"))')).toHaveLength(
      7,
    );
    expect(await find('eq(input_key, "model")')).toHaveLength(6);
  });

  test("a patch shares texts, and takes precedence over its post", async () => {
    const [root, ...turns] = createTurns(3);
    await send([root, ...turns].flatMap((run) => (run === undefined ? [] : [{ run }])));
    const [, , last] = turns;
    const outputs = { messages: messages(6) };
    const patch = patchOf(last ?? {}, { outputs, end_time: "2026-11-21T10:11:13Z" });
    await send([{ operation: "patch", run: patch }]);
    await send([{ operation: "patch", run: patch }]);
    expect(await fixture.read(String(last?.id))).toMatchObject({
      inputs: inputsOf(last ?? {}),
      outputs,
    });
    expect((await readBodies(String(last?.id))).at(-1)).toBe(JSON.stringify({ outputs }));
    await deleteRuns([String(root?.id)]);
    await sweep();
    expect(await count(fixture.tenantId)).toEqual({ texts: 0, payloads: 0 });
  });

  test("a text is deleted when the last run that refers to it is, with those that it continues", async () => {
    const runs = createTurns(8);
    await send(runs.map((run) => ({ run })));
    const ids = runs.map(({ id }) => id);
    // The last turn still needs the texts of all turns before it.
    await deleteRuns(ids.slice(1, -1));
    expect(await count(fixture.tenantId)).toEqual({ texts: 8, payloads: 1 });
    expect(await readBodies(ids.at(-1) ?? "")).toEqual([bodyOf(runs.at(-1) ?? {})]);
    await deleteRuns(ids.slice(-1));
    expect(await count(fixture.tenantId)).toEqual({ texts: 0, payloads: 0 });
    // The root was the first to send its metadata, which is stored with it.
    expect(await readBodies(ids[0] ?? "")).toEqual([bodyOf(runs[0] ?? {})]);
  });

  test("deleting a project deletes the texts that only its runs had", async () => {
    const [kept, gone] = [createTurns(5, "kept"), createTurns(7, "gone")];
    await send([...kept, ...gone].map((run) => ({ run })));
    const projects = await fixture.store.read.projects.list(fixture.tenantId, {
      limit: 10,
      offset: 0,
    });
    await fixture.store.write.projects.delete(
      fixture.tenantId,
      projects.find(({ name }) => name === "gone")?.id ?? "",
    );
    expect(await count(fixture.tenantId)).toEqual({ texts: 5, payloads: 5 });
    for (const run of kept) {
      expect(await readBodies(run.id)).toEqual([bodyOf(run)]);
    }
  });

  test("content of a deleted run that is received again is stored again", async () => {
    const run = wireRun({ inputs: { messages: messages(60) } });
    await send([{ run }]);
    await deleteRuns([run.id]);
    expect(await count(fixture.tenantId)).toEqual({ texts: 0, payloads: 0 });
    const again = wireRun({ inputs: { messages: messages(61) } });
    await send([{ run: again }]);
    await sweep();
    expect(await readBodies(again.id)).toEqual([JSON.stringify({ inputs: inputsOf(again) })]);
    expect(await count(fixture.tenantId)).toEqual({ texts: 1, payloads: 1 });
  });

  test("a list that grows beyond the maximum depth is stored whole once more", async () => {
    const item = (turn: number) => ({ n: turn, text: "x".repeat(300) });
    const list = Array.from({ length: maxDepth + 10 }, (_, turn) => item(turn));
    const root = wireRun();
    await send([{ run: root }]);
    let last = root;
    for (const [turn] of list.entries()) {
      last = wireRun({
        parent: root,
        micros: someMicros + turn + 1,
        inputs: { list: list.slice(0, turn + 1) },
      });
      // Sequential: each turn refers to the turn before.
      await send([{ run: last }]);
    }
    expect(await readBodies(last.id)).toEqual([JSON.stringify({ inputs: { list } })]);
  });

  test("a chunk that ends within a character is stored with its payload", async () => {
    const bytes = Buffer.from(JSON.stringify({ text: "水".repeat(8_000) }));
    const [start, end] = [bytes.subarray(0, 20_000), bytes.subarray(20_000)];
    const chunks = {
      inputs: [textChunk(chunkCode.remembered, start), textChunk(chunkCode.text, end)],
    };
    const run = wireRun();
    await send([{ run, chunks }]);
    expect(await readBodies(run.id)).toEqual([`{"inputs":${bytes.toString()}}`]);
    expect(await count(fixture.tenantId)).toEqual({ texts: 0, payloads: 0 });
  });

  const texts = fc.constantFrom(
    "short",
    "long enough to be shared ".repeat(12),
    "水車と水路 мельница 🌊 ".repeat(16),
    '"\\\u0000\u2028\r\n--'.repeat(40),
    "\ud800 lone ".repeat(40),
    "much longer ".repeat(1_500),
  );
  const fields = fc.record(
    {
      inputs: fc.record(
        {
          // Lists that begin alike, and lists that do not.
          messages: fc.nat(9).map(messages),
          others: fc.array(texts, { maxLength: 4 }),
          text: texts,
        },
        { requiredKeys: [] },
      ),
      outputs: fc.record({ text: texts, messages: fc.nat(9).map(messages) }, { requiredKeys: [] }),
      extra: fc.record({ metadata: fc.record({ text: texts }) }),
    },
    { requiredKeys: [] },
  );
  const operations = fc.array(
    fc.record({
      run: fc.nat(4),
      operation: fc.constantFrom("post" as const, "patch" as const),
      fields,
    }),
    { minLength: 1, maxLength: 6 },
  );
  const steps = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: operations },
      { weight: 1, arbitrary: fc.record({ deleted: fc.nat(4) }) },
      { weight: 1, arbitrary: fc.constant("sweep" as const) },
    ),
    { minLength: 1, maxLength: 8 },
  );

  test("whatever is stored, patched and deleted in any order reads the same with and without shared texts", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const [shared, inline] = [await open(), await open()];
        const chunked = new ChunkedSender(shared.tenantId);
        const root = wireRun();
        const runs = [
          root,
          ...[1, 2, 3].map((place) => wireRun({ parent: root, micros: someMicros + place })),
          wireRun(),
        ];
        const runAt = (place: number) => runs[place] ?? root;
        /** Takes a step with both tenants, and returns the results. */
        const take = async (step: (typeof all)[number]): Promise<readonly unknown[]> => {
          if (step === "sweep") {
            await sweep();
            return [];
          }
          if ("deleted" in step) {
            const { id } = runAt(step.deleted);
            return Promise.all(
              [shared, inline].map(({ store, tenantId }) =>
                store.write.runs.deleteTrees(tenantId, [id]),
              ),
            );
          }
          const sent = step.map(({ run, operation, fields: values }) => ({
            operation,
            run: operation === "post" ? { ...runAt(run), ...values } : patchOf(runAt(run), values),
          }));
          return Promise.all([
            shared.store.ingest(shared.tenantId, chunked.createBatch(sent)),
            // The same parts from a client with an empty memory, which repeats nothing.
            inline.store.ingest(
              inline.tenantId,
              withoutShareable(new ChunkedSender(inline.tenantId).createBatch(sent)),
            ),
          ]);
        };
        for (const step of all) {
          const [result, inlineResult] = await take(step);
          expect(result).toEqual(inlineResult);
          for (const { id } of runs) {
            expect(await readBodies(id, shared)).toEqual(await readBodies(id, inline));
          }
        }
        await shared.store.write.runs.deleteTrees(
          shared.tenantId,
          runs.map(({ id }) => id).toReversed(),
        );
        await sweep();
        expect(await count(shared.tenantId)).toEqual({ texts: 0, payloads: 0 });
      }),
      { numRuns: randomOrders },
    );
  }, 120_000);
}

const inputsOf = (run: Record<string, unknown>): unknown => run["inputs"];

/** The batch of a client that sends everything inline. */
const withoutShareable = (batch: ReturnType<ChunkedSender["createBatch"]>) => ({
  ...batch,
  records: batch.records.map((record) => ({ ...record, shareable: undefined })),
});

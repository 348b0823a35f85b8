import { expect, onTestFinished, test } from "vitest";
import { pack } from "../../../dist/datasets/examples/large-examples.js";
import { WorkThreads } from "../../../dist/storage/work-threads.js";

const endless = {
  kind: "schema",
  schemas: {
    inputsSchema: { properties: { q: { type: "string", pattern: "^(a+)+$" } } },
    outputsSchema: null,
  },
  examples: [
    pack([{ id: "one", inputs: JSON.stringify({ q: `${"a".repeat(40)}!` }), outputs: null }]),
  ],
  mode: "fail",
} as const;
const quick = {
  ...endless,
  examples: [pack([{ id: "two", inputs: '{"q":"aa"}', outputs: null }])],
};

function open(timeoutMs: number): WorkThreads {
  const work = new WorkThreads({ timeoutMs });
  onTestFinished(() => work.close());
  return work;
}

test("a task that takes too long is rejected, its thread ends, and the next task gets a new one", async () => {
  const work = open(1_500);
  await expect(work.run("me", endless)).rejects.toMatchObject({ status: 422 });
  expect(await work.run("me", quick)).toEqual({});
});

test("a tenant's tasks run one after the other, and another tenant's do not wait for them", async () => {
  const work = open(3_000);
  const order: string[] = [];
  const note = (name: string) => (): void => void order.push(name);
  const mine = [work.run("me", endless), work.run("me", endless)].map((task) =>
    task.catch(note("mine")),
  );
  await work.run("you", quick).then(note("yours"));
  expect(order).toEqual(["yours"]);
  await work.close();
  await Promise.all(mine);
});

test("a tenant with one task has its turn although two tenants have queued many before", async () => {
  const work = open(20_000);
  const finished: string[] = [];
  const run = async (tenantId: string): Promise<void> => {
    await work.run(tenantId, quick);
    finished.push(tenantId);
  };
  const many = Array.from({ length: 50 });
  await Promise.all([...many.flatMap(() => [run("me"), run("you")]), run("they")]);
  expect(finished.indexOf("they")).toBeLessThan(many.length);
});

test("the thread returns the error of a rejected body, and the content of a batch", async () => {
  const work = open(20_000);
  const batch = (text: string) => ({ kind: "batch", chunks: [Buffer.from(text)] }) as const;
  await expect(work.run("me", batch("{"))).rejects.toMatchObject({ status: 422 });
  expect(await work.run("me", batch('{"post":[1]}'))).toMatchObject({
    packed: undefined,
    rejected: [{ reason: "a run must be a JSON object" }],
  });
});

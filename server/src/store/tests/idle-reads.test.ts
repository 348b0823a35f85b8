import { afterAll, expect, test } from "vitest";
import { invokeMethod } from "../../storage/thread-reply.ts";
import { IdleReads } from "../idle-reads.ts";
import { createReaders } from "../repositories.ts";
import { openWriter } from "../schema.ts";

const db = openWriter(":memory:");
const idleReads = new IdleReads(db);
afterAll(() => db.close());

const call = (resource: string, method: string) =>
  ({ resource, method, args: [Date.now() * 1_000] }) as Parameters<IdleReads["find"]>[0];

test.each([
  ["alerts", "listActive", "alerts"],
  ["jobs", "hasActive", "jobs"],
  ["rules", "listActive", "rules"],
  ["webhooks", "listDue", "webhook_deliveries"],
])(
  "the answer of %s.%s is that of the reader while its table is empty",
  async (resource, method, table) => {
    const read = call(resource, method);
    expect(idleReads.find(read)).toMatchObject({
      answer: await invokeMethod(createReaders(db), read),
    });
    const columns = db
      .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE "notnull" = 1`)
      .raw()
      .all()
      .flat();
    db.exec(`INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => "1").join()})`);
    expect(idleReads.find(read)).toBeUndefined();
  },
);

test("other reads have no such answer", () => {
  expect(idleReads.find(call("runs", "find"))).toBeUndefined();
  expect(idleReads.find(call("jobs", "list"))).toBeUndefined();
});

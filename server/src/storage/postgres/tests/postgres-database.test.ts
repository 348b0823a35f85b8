import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PgliteClient } from "../../../../tests/support/repository-engines.ts";
import { createQueryBuilder, Query } from "../../query.ts";
import type { Parameters } from "../../query.ts";
import { migrate, readFormat } from "../migrations.ts";
import { PostgresDatabase } from "../postgres-database.ts";
import { runTransaction } from "../transaction.ts";
import { prepareRole } from "../server-role.ts";

interface Tables {
  readonly notes: { readonly tenant_id: string; readonly id: number; readonly text: string };
}

const builder = createQueryBuilder<Tables>();
const insert = new Query(
  ({ tenantId, id, text }: Parameters<{ tenantId: string; id: number; text: string }>) =>
    builder.insertInto("notes").values({ tenant_id: tenantId, id, text }),
);
/** Forgets its condition on the tenant. */
const listAll = new Query(() => builder.selectFrom("notes").selectAll().orderBy("id"));
const updateAll = new Query(({ text }: Parameters<{ text: string }>) =>
  builder.updateTable("notes").set({ text }),
);

const notes =
  "CREATE TABLE notes (tenant_id TEXT NOT NULL, id BIGINT NOT NULL, text TEXT NOT NULL)";

describe("a PostgreSQL database", () => {
  let client: PgliteClient;
  let db: PostgresDatabase;
  beforeAll(async () => {
    client = await PgliteClient.create();
    await client.exec(await prepareRole(client));
    await migrate(client, [notes]);
    db = new PostgresDatabase(client);
  });
  afterAll(() => client.close());

  const inTenant = <Result>(tenant: string, call: () => Promise<Result>): Promise<Result> =>
    runTransaction(
      client,
      { tenant, isReadOnly: false, statementMs: 60_000, lockMs: 60_000, locks: [] },
      call,
    );

  test("hides the rows of other tenants from a query that forgets its condition", async () => {
    await inTenant("a", () => db.run(insert, { tenantId: "a", id: 1, text: "of a" }));
    await inTenant("b", () => db.run(insert, { tenantId: "b", id: 2, text: "of b" }));
    expect(await inTenant("a", () => db.all(listAll, {}))).toEqual([
      { tenant_id: "a", id: 1, text: "of a" },
    ]);
    expect(await inTenant("a", () => db.run(updateAll, { text: "changed" }))).toBe(1);
    expect(await inTenant("*", () => db.all(listAll, {}))).toEqual([
      { tenant_id: "a", id: 1, text: "changed" },
      { tenant_id: "b", id: 2, text: "of b" },
    ]);
  });

  test("refuses a row of another tenant", async () => {
    await expect(
      inTenant("a", () => db.run(insert, { tenantId: "b", id: 3, text: "x" })),
    ).rejects.toThrow("row-level security");
  });

  test("shows nothing outside of a transaction, which has no tenant", async () => {
    expect(await db.all(listAll, {})).toEqual([]);
  });

  test("a call that fails changes nothing", async () => {
    await expect(
      inTenant("c", async () => {
        await db.run(insert, { tenantId: "c", id: 4, text: "x" });
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await inTenant("c", () => db.all(listAll, {}))).toEqual([]);
  });

  test("names the parameter that contains NUL", async () => {
    await expect(
      inTenant("a", () => db.run(insert, { tenantId: "a", id: 5, text: "a\u0000b" })),
    ).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining("text contains") as string,
    });
    await expect(db.query("SELECT $1::text[]", [["a", "\u0000"]])).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining("$1 contains") as string,
    });
  });

  test("returns integers and numerics as numbers", async () => {
    const { rows } = await db.query(
      "SELECT 9007199254740991::bigint AS a, sum(x) AS b, 1.5::numeric AS c FROM unnest($1::bigint[]) x",
      [[1, 2]],
    );
    expect(rows).toEqual([{ a: 9_007_199_254_740_991, b: 3, c: 1.5 }]);
  });
});

describe("the formats of a PostgreSQL database", () => {
  let client: PgliteClient;
  beforeAll(async () => {
    client = await PgliteClient.create();
  });
  afterAll(() => client.close());

  test("are applied in their order, each once, and rows are kept", async () => {
    await migrate(client, [notes]);
    expect(await readFormat(client)).toBe(1);
    await client.exec("INSERT INTO notes VALUES ('a', 1, 'kept')");
    const next = [notes, "ALTER TABLE notes ADD COLUMN more BIGINT NOT NULL DEFAULT 7"];
    await migrate(client, next);
    await migrate(client, next);
    expect(await readFormat(client)).toBe(2);
    const { rows } = await client.run({ text: "SELECT * FROM notes", values: [] });
    expect(rows).toEqual([{ tenant_id: "a", id: 1, text: "kept", more: 7 }]);
  });

  test("a format that fails leaves the format before it", async () => {
    const failing = [notes, "SELECT 1", "CREATE TABLE half (id BIGINT); SELECT 1 / 0"];
    await expect(migrate(client, failing)).rejects.toMatchObject({
      code: "STORE",
      message: expect.stringContaining("could not be brought to format 3") as string,
    });
    expect(await readFormat(client)).toBe(2);
    const { rows } = await client.run({ text: "SELECT to_regclass('half') AS half", values: [] });
    expect(rows).toEqual([{ half: null }]);
  });

  test("a database of a newer format is refused", async () => {
    await expect(migrate(client, [notes])).rejects.toMatchObject({
      code: "STORE",
      message:
        "the database has format 2, but this server supports formats up to 1: use a newer server",
    });
  });
});

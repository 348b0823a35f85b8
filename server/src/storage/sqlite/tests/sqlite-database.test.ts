import { expect, test } from "vitest";
import { isInList } from "../../dialect.ts";
import { createQueryBuilder, Query, QueryForms } from "../../query.ts";
import type { Parameters } from "../../query.ts";
import { openDatabase } from "../connection.ts";
import type { Connection, Statement } from "../connection.ts";
import { SqliteDatabase } from "../sqlite-database.ts";

interface Tables {
  readonly words: { readonly id: number; readonly word: string };
}

const builder = createQueryBuilder<Tables>();
const insert = new Query((row: Parameters<Tables["words"]>) =>
  builder.insertInto("words").values({ id: row.id, word: row.word }),
);
const find = new Query(({ id }: Parameters<{ id: number }>) =>
  builder.selectFrom("words").select("word").where("id", "=", id),
);

/** Opens a database that counts how many statements are prepared. */
function openCounting(): { readonly db: SqliteDatabase; readonly prepared: string[] } {
  const connection = openDatabase(":memory:");
  connection.exec("CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL)");
  const prepared: string[] = [];
  const counting: Pick<Connection, "prepare"> = {
    prepare: (sql: string): Statement => {
      prepared.push(sql);
      return connection.prepare(sql);
    },
  };
  return { db: new SqliteDatabase(counting), prepared };
}

test("a query is prepared once, however often it runs", async () => {
  const { db, prepared } = openCounting();
  for (let id = 0; id < 5; id += 1) {
    expect(await db.run(insert, { id, word: `w${id}` })).toBe(1);
  }
  expect(await db.all(find, { id: 3 })).toMatchObject([{ word: "w3" }]);
  expect(await db.first(find, { id: 9 })).toBeUndefined();
  expect(prepared).toHaveLength(2);
});

test("a query that is built for each call is prepared once per form, within a limit", async () => {
  const { db, prepared } = openCounting();
  const readWords = (ids: readonly number[]) =>
    db.all(
      builder
        .selectFrom("words")
        .select("word")
        .where((eb) => isInList(eb.ref("word"), ids.map(String))),
    );
  await readWords([1]);
  await readWords([1, 2, 3]);
  expect(prepared).toHaveLength(1);
  for (let form = 1; form <= 100; form += 1) {
    const columns = Array.from({ length: form }, (_, at) => `word as w${at}` as const);
    await db.all(builder.selectFrom("words").select(columns));
  }
  await readWords([4]);
  expect(prepared).toHaveLength(102);
});

test("a query with optional values is built once per form, and the oldest forms are dropped", async () => {
  const { db, prepared } = openCounting();
  await db.run(insert, { id: 1, word: "a" });
  await db.run(insert, { id: 2, word: "b" });
  prepared.length = 0;
  let builtCount = 0;
  type Values = { readonly limit: number; readonly minId?: number; readonly word?: string };
  const forms = new QueryForms(
    ({ limit, minId, word }: Parameters<Values>, { order }: { readonly order: "asc" | "desc" }) => {
      builtCount += 1;
      let list = builder.selectFrom("words").select("word").orderBy("id", order).limit(limit);
      list = minId === undefined ? list : list.where("id", ">=", minId);
      return word === undefined ? list : list.where("word", "=", word);
    },
  );
  const listWords = async (values: Values, order: "asc" | "desc" = "asc") => {
    const rows = await db.all(forms.select(values, { order }), values);
    return rows.map(({ word }) => word);
  };
  expect(await listWords({ limit: 5 })).toEqual(["a", "b"]);
  expect(await listWords({ limit: 1 })).toEqual(["a"]);
  expect(await listWords({ limit: 1 }, "desc")).toEqual(["b"]);
  expect(await listWords({ limit: 5, minId: 2 })).toEqual(["b"]);
  expect(await listWords({ limit: 5, minId: 1, word: "a" })).toEqual(["a"]);
  expect(await listWords({ limit: 5, minId: 2, word: "a" })).toEqual([]);
  expect({ builtCount, preparedCount: prepared.length }).toEqual({
    builtCount: 4,
    preparedCount: 4,
  });
  const manyForms = new QueryForms(
    (_values: Parameters<object>, { at }: { readonly at: number }) => {
      builtCount += 1;
      return builder.selectFrom("words").select(`word as w${at}`);
    },
  );
  const buildForm = (at: number) => manyForms.select({}, { at }).compileFor("sqlite");
  builtCount = 0;
  for (let at = 0; at <= 100; at += 1) {
    buildForm(at);
  }
  buildForm(100);
  expect(builtCount).toBe(101);
  buildForm(0);
  expect(builtCount).toBe(102);
});

test("a statement that fails rejects and does not throw", async () => {
  const { db } = openCounting();
  await db.run(insert, { id: 1, word: "a" });
  const repeated = db.run(insert, { id: 1, word: "a" });
  await expect(repeated).rejects.toThrow(/UNIQUE/);
});

test("between two statements only microtasks run", async () => {
  const { db } = openCounting();
  let hasTurned = false;
  setImmediate(() => {
    hasTurned = true;
  });
  await db.run(insert, { id: 1, word: "a" });
  await db.run(insert, { id: 2, word: "b" });
  await db.first(find, { id: 2 });
  expect(hasTurned).toBe(false);
});

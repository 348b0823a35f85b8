import { expect, test } from "vitest";
import { isInList } from "../../dialect.ts";
import { createQueryBuilder, Query } from "../../query.ts";
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

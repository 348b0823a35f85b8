import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { formatMigrations, openWriter } from "../../store/schema.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { AnnotationQueueReader } from "../annotation-queue-reader.ts";
import { AnnotationQueueWriter } from "../annotation-queue-writer.ts";
import { QueueReviewReader } from "../queue-review-reader.ts";
import { QueueReviewWriter } from "../queue-review-writer.ts";
import { toReviewerId } from "../queue-review.ts";
import { SqliteDatabase } from "../../storage/sqlite/sqlite-database.ts";
import { temporaryFolder } from "../../../tests/support/running-server.ts";

const minute = 60_000_000;
const tenant = "t";

/** A queue of `count` runs, with a clock that the test sets. */
async function createFixture(count: number, reviewers: Readonly<Record<string, unknown>> = {}) {
  const db = openWriter(join(await temporaryFolder(), "millrace.db"));
  onTestFinished(() => db.close());
  let nowMicros = 1_000 * minute;
  const clock = (): number => nowMicros;
  const database = new SqliteDatabase(db);
  const queues = new AnnotationQueueWriter(database, clock);
  const queueId = randomUUID();
  await queues.create(tenant, {
    id: queueId,
    name: "q",
    description: null,
    defaultDatasetId: null,
    rubricInstructions: null,
    rubricItems: null,
    metadata: null,
    reviewers,
    createdMicros: null,
  });
  const insert = db.prepare(
    "INSERT INTO annotation_queue_runs (tenant_id, queue_id, id, run_id, added_us) VALUES (?, ?, ?, ?, ?)",
  );
  const ids = Array.from({ length: count }, (_, index) => {
    const id: string = randomUUID();
    insert.run([tenant, queueId, id, randomUUID(), index]);
    return id;
  });
  const reviews = new QueueReviewWriter(database, clock);
  const reader = new AnnotationQueueReader(database, clock);
  const progressReader = new QueueReviewReader(database, clock);
  const key = (reviewer: string, place: number) => ({
    queueId,
    entryId: ids[place] ?? "",
    reviewer,
  });
  const placeOf = (claimed: { readonly id: string } | undefined): number | undefined =>
    claimed === undefined ? undefined : ids.indexOf(claimed.id);
  return {
    queues,
    queueId,
    wait: (micros: number) => {
      nowMicros += micros;
    },
    next: async (reviewer: string) =>
      placeOf(await reviews.claim(tenant, { queueId, reviewer, choice: { kind: "next" } })),
    beside: async (reviewer: string, kind: "after" | "before", place: number) => {
      const pick = { kind, entryId: ids[place] ?? "" };
      return placeOf(await reviews.claim(tenant, { queueId, reviewer, choice: pick }));
    },
    open: (reviewer: string, place: number) => {
      const pick = { kind: "this", entryId: ids[place] ?? "" } as const;
      return reviews.claim(tenant, { queueId, reviewer, choice: pick });
    },
    finish: (reviewer: string, place: number) => reviews.finish(tenant, key(reviewer, place)),
    reopen: (reviewer: string, place: number) => reviews.reopen(tenant, key(reviewer, place)),
    skip: (reviewer: string, place: number) => reviews.release(tenant, key(reviewer, place), true),
    release: (reviewer: string, place: number) =>
      reviews.release(tenant, key(reviewer, place), false),
    remove: (place: number) => queues.removeRun(tenant, key("", place)),
    progress: (reviewer = "") => progressReader.readProgress(tenant, queueId, reviewer),
    places: async (status: "needs_my_review" | "needs_others_review" | "completed") => {
      const query = { queueId, status, limit: 100, offset: 0 };
      return (await reader.listEntries(tenant, query)).map((entry) => placeOf(entry));
    },
    reviewRows: () =>
      Number(db.prepare("SELECT count(*) FROM annotation_queue_reviews").raw().all().flat()[0]),
    review: (place: number, time: number | null) =>
      queues.updateRun(tenant, key("", place), { reviewedMicros: time, addedMicros: undefined }),
  };
}

test("two reviewers get two different runs, and each gets the same run again", async () => {
  const fixture = await createFixture(3);
  expect([
    await fixture.next("ann"),
    await fixture.next("bob"),
    await fixture.next("ann"),
    await fixture.next("bob"),
  ]).toEqual([0, 1, 0, 1]);
  expect(await fixture.next("cy")).toBe(2);
  expect(await fixture.next("dan")).toBeUndefined();
});

test("a claim lasts for the minutes that the queue sets, and not a microsecond longer", async () => {
  const fixture = await createFixture(1, { reservation_minutes: 3 });
  expect(await fixture.next("ann")).toBe(0);
  fixture.wait(3 * minute - 1);
  expect(await fixture.next("bob")).toBeUndefined();
  await expect(fixture.open("bob", 0)).rejects.toThrow("The run is under review by ann");
  fixture.wait(1);
  expect(await fixture.next("bob")).toBe(0);
  expect(await fixture.next("ann")).toBeUndefined();
});

test("a renewed claim counts from its renewal, and lasts one minute by default", async () => {
  const fixture = await createFixture(1);
  await fixture.next("ann");
  fixture.wait(minute - 1);
  expect((await fixture.open("ann", 0))?.claimedUntilMicros).toBe(1_000 * minute + 2 * minute - 1);
  fixture.wait(minute - 1);
  expect(await fixture.next("bob")).toBeUndefined();
});

test("a reviewer whose expired claim went to another is rejected, and nothing is marked", async () => {
  const fixture = await createFixture(2);
  await fixture.next("ann");
  fixture.wait(minute);
  expect(await fixture.next("bob")).toBe(0);
  await expect(fixture.finish("ann", 0)).rejects.toThrow("The run is under review by bob");
  await fixture.finish("bob", 0);
  await expect(fixture.finish("ann", 0)).rejects.toThrow("The run was reviewed by bob");
  expect(await fixture.progress()).toMatchObject({ total: 2, completed: 1 });
});

test("an expired claim can still be finished if nobody else has claimed the run", async () => {
  const fixture = await createFixture(1);
  await fixture.next("ann");
  fixture.wait(9 * minute);
  expect((await fixture.finish("ann", 0)).completedMicros).toBe(1_009 * minute);
});

test("a queue with two reviewers per run offers it to both, once each, and then to nobody", async () => {
  const fixture = await createFixture(1, { num_reviewers_per_item: 2 });
  expect([await fixture.next("ann"), await fixture.next("bob"), await fixture.next("cy")]).toEqual([
    0,
    0,
    undefined,
  ]);
  const first = await fixture.finish("ann", 0);
  expect(await fixture.finish("ann", 0)).toEqual(first);
  expect(first).toMatchObject({ completedMicros: null, reviewedMicros: 1_000 * minute });
  expect([await fixture.next("ann"), await fixture.next("cy"), await fixture.next("bob")]).toEqual([
    undefined,
    undefined,
    0,
  ]);
  expect((await fixture.finish("bob", 0)).completedMicros).toBe(1_000 * minute);
  expect(await fixture.next("cy")).toBeUndefined();
  expect(await fixture.progress("ann")).toMatchObject({ completed: 1, lastDoneId: first.id });
});

test("without reservations several reviewers get the same run, and the first to finish completes it", async () => {
  const fixture = await createFixture(2, { enable_reservations: false });
  expect([await fixture.next("ann"), await fixture.next("bob")]).toEqual([0, 0]);
  expect((await fixture.open("ann", 0))?.claimedUntilMicros).toBeNull();
  await fixture.finish("bob", 0);
  await expect(fixture.finish("ann", 0)).rejects.toThrow("The run was reviewed by bob");
  expect(await fixture.next("ann")).toBe(1);
});

test("skipped runs come last, in the order of skipping, and are offered to others at once", async () => {
  const fixture = await createFixture(3);
  for (const place of [0, 1]) {
    expect(await fixture.next("ann")).toBe(place);
    await fixture.skip("ann", place);
    fixture.wait(1);
  }
  expect(await fixture.next("bob")).toBe(0);
  expect(await fixture.next("ann")).toBe(2);
  await fixture.finish("ann", 2);
  expect(await fixture.next("ann")).toBe(1);
});

test("a released run is offered to the next reviewer", async () => {
  const fixture = await createFixture(1);
  await fixture.next("ann");
  await fixture.release("ann", 0);
  await fixture.release("ann", 0);
  expect(await fixture.next("bob")).toBe(0);
});

test("undoing the done mark reopens the run for its reviewer only", async () => {
  const fixture = await createFixture(1);
  await fixture.next("ann");
  await fixture.finish("ann", 0);
  expect(await fixture.progress("ann")).toMatchObject({ completed: 1 });
  expect(await fixture.reopen("ann", 0)).toMatchObject({ index: 0, completedMicros: null });
  expect(await fixture.progress("ann")).toMatchObject({ completed: 0, lastDoneId: null });
  expect(await fixture.next("bob")).toBeUndefined();
  expect(await fixture.places("needs_my_review")).toEqual([0]);
});

test("a reviewer without a done mark gets no claim next to another reviewer's", async () => {
  const fixture = await createFixture(2);
  await fixture.next("ann");
  await fixture.finish("bob", 1);
  await expect(fixture.reopen("cy", 0)).rejects.toThrow(/under review by ann/);
  await expect(fixture.reopen("cy", 1)).rejects.toThrow(/reviewed by bob/);
  await fixture.finish("ann", 0);
  expect(await fixture.progress("ann")).toMatchObject({ completed: 2 });
});

test("the next and previous claimable runs are found, skipping those that others have claimed or finished", async () => {
  const fixture = await createFixture(5);
  await fixture.open("bob", 1);
  await fixture.finish("cy", 2);
  expect(await fixture.beside("ann", "after", 0)).toBe(3);
  expect(await fixture.beside("ann", "before", 3)).toBe(0);
  expect(await fixture.beside("ann", "before", 0)).toBeUndefined();
  expect(await fixture.beside("ann", "after", 4)).toBeUndefined();
});

test("a run that the reviewer has finished can be opened again, without a claim", async () => {
  const fixture = await createFixture(2);
  await fixture.finish("ann", 1);
  expect(await fixture.open("ann", 1)).toMatchObject({ index: 1, claimedUntilMicros: null });
  await expect(fixture.open("bob", 1)).rejects.toThrow("The run was reviewed by ann");
});

test("progress counts runs, done marks and current claims", async () => {
  const fixture = await createFixture(4);
  await fixture.finish("ann", 0);
  await fixture.finish("ann", 1);
  await fixture.next("ann");
  await fixture.next("bob");
  const progress = await fixture.progress("ann");
  expect(progress).toMatchObject({ total: 4, completed: 2 });
  expect(progress.reviewers).toEqual([
    { name: "ann", done: 2, claimed: 1 },
    { name: "bob", done: 0, claimed: 1 },
  ]);
  fixture.wait(minute);
  expect((await fixture.progress()).reviewers.map(({ claimed }) => claimed)).toEqual([0, 0]);
});

test("all API callers are one reviewer: if two are required, another one is still needed", async () => {
  const fixture = await createFixture(2, { num_reviewers_per_item: 2 });
  expect(await fixture.review(0, 5)).toMatchObject({ reviewedMicros: 5, completedMicros: null });
  expect(await fixture.places("needs_others_review")).toEqual([0]);
  expect(await fixture.places("needs_my_review")).toEqual([1]);
  await fixture.finish("ann", 0);
  expect(await fixture.places("completed")).toEqual([0]);
  expect(await fixture.review(0, null)).toMatchObject({ reviewedMicros: null, reviews: [] });
  expect(await fixture.places("needs_my_review")).toEqual([0, 1]);
});

test("changing the number of required reviewers updates which runs are completed", async () => {
  const fixture = await createFixture(1);
  await fixture.finish("ann", 0);
  const send = (count: number) => {
    const none = {
      name: undefined,
      description: undefined,
      defaultDatasetId: undefined,
      rubricInstructions: undefined,
      rubricItems: undefined,
      metadata: undefined,
    };
    return fixture.queues.update(tenant, fixture.queueId, {
      ...none,
      reviewers: { num_reviewers_per_item: count },
    });
  };
  await send(2);
  expect(await fixture.progress()).toMatchObject({ completed: 0 });
  expect(await fixture.next("bob")).toBe(0);
  await send(1);
  expect(await fixture.progress()).toMatchObject({ completed: 1 });
  await expect(fixture.finish("bob", 0)).rejects.toThrow("The run was reviewed by ann");
});

test("claims and done marks are deleted with the run, and with the queue", async () => {
  const fixture = await createFixture(2);
  await fixture.finish("ann", 0);
  await fixture.next("ann");
  expect(fixture.reviewRows()).toBe(2);
  await fixture.remove(0);
  expect(fixture.reviewRows()).toBe(1);
  await fixture.queues.delete(tenant, [fixture.queueId]);
  expect(fixture.reviewRows()).toBe(0);
});

test("a run that was reviewed before claims existed is completed", async () => {
  const path = join(await temporaryFolder(), "millrace.db");
  const before = openDatabase(path);
  before.exec(formatMigrations.slice(0, 3).join(""));
  before.exec(`INSERT INTO annotation_queues VALUES ('t', 'q', '"q"', NULL, '{"reviewers":{}}', 0, 0, 'd');
    INSERT INTO annotation_queue_runs (tenant_id, queue_id, id, run_id, added_us, reviewed_us)
      VALUES ('t', 'q', 'one', 'r1', 0, 7), ('t', 'q', 'two', 'r2', 1, NULL);
    PRAGMA user_version = 3`);
  before.close();
  const db = openWriter(path);
  onTestFinished(() => db.close());
  const progress = await new QueueReviewReader(new SqliteDatabase(db)).readProgress("t", "q", "");
  expect(progress).toMatchObject({ total: 2, completed: 1, lastDoneId: "one" });
});

test("a reviewer id is a UUID that depends only on the name", () => {
  expect(toReviewerId("ann")).toMatch(
    /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
  );
  expect(toReviewerId("ann")).toBe(toReviewerId("ann"));
  expect(toReviewerId("ann")).not.toBe(toReviewerId("bob"));
});

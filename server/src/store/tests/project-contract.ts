import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import type { ProjectDraft, ProjectQuery } from "../../projects/project.ts";
import type { StoreFixture } from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

const draft = (rest: Partial<ProjectDraft> = {}): ProjectDraft => ({
  id: randomUUID(),
  name: "p",
  description: null,
  startMicros: someMicros,
  endMicros: null,
  extra: null,
  referenceDatasetId: null,
  upsert: false,
  ...rest,
});
const unchanged = { name: null, description: null, endMicros: null, extra: null };

const taken = (what: string) => ({
  status: 409,
  message: `Session with this ${what} already exists.`,
});

/** What every storage engine must do with projects. `open` gives each test a tenant without rows. */
export function describeProjects(open: () => Promise<StoreFixture>): void {
  let fixture: StoreFixture;
  beforeEach(async () => {
    fixture = await open();
  });

  const namesOf = async (query: Partial<ProjectQuery>): Promise<string[]> => {
    const found = await fixture.store.read.projects.list(fixture.tenantId, {
      limit: 100,
      offset: 0,
      ...query,
    });
    return found.map(({ name }) => name);
  };

  test("a project is read back as it was created, whatever its texts contain", async () => {
    const text = `<b>'; DROP TABLE projects; --\u0000\ud800"`;
    const created = draft({
      name: text,
      description: text,
      endMicros: someMicros + 5,
      extra: { metadata: { [text]: text }, deep: [1, null, { a: true }] },
      referenceDatasetId: randomUUID(),
    });
    const { upsert: _upsert, ...project } = created;
    const expected = { ...project, tenantId: fixture.tenantId };
    expect(await fixture.store.write.projects.create(fixture.tenantId, created)).toEqual(expected);
    expect(await fixture.store.read.projects.find(fixture.tenantId, created.id)).toEqual(expected);
    expect(await namesOf({ name: text })).toEqual([text]);
  });

  test("a name or id that is taken is rejected, and the existing project stays unchanged", async () => {
    const first = draft({ description: "first" });
    await fixture.store.write.projects.create(fixture.tenantId, first);
    await expect(
      fixture.store.write.projects.create(fixture.tenantId, draft({ description: "second" })),
    ).rejects.toMatchObject(taken("name"));
    await expect(
      fixture.store.write.projects.create(fixture.tenantId, draft({ id: first.id, name: "q" })),
    ).rejects.toMatchObject(taken("id"));
    expect((await fixture.store.read.projects.find(fixture.tenantId, first.id))?.description).toBe(
      "first",
    );
    expect(await namesOf({})).toEqual(["p"]);
  });

  test("an upsert updates the project with the name and keeps its id", async () => {
    const first = draft({ description: "first", extra: { a: 1 } });
    await fixture.store.write.projects.create(fixture.tenantId, first);
    const fate = await fixture.store.write.projects.create(
      fixture.tenantId,
      draft({ upsert: true, extra: { b: 2 } }),
    );
    expect(fate).toMatchObject({
      id: first.id,
      description: "first",
      extra: { b: 2 },
    });
  });

  test("an update changes the given fields only", async () => {
    const created = draft({ description: "before", extra: { a: 1 } });
    await fixture.store.write.projects.create(fixture.tenantId, created);
    await fixture.store.write.projects.create(fixture.tenantId, draft({ name: "other" }));
    const changes = { ...unchanged, name: "renamed", endMicros: someMicros + 1 };
    expect(
      await fixture.store.write.projects.update(fixture.tenantId, created.id, changes),
    ).toMatchObject({ id: created.id });
    expect(await fixture.store.read.projects.find(fixture.tenantId, created.id)).toMatchObject({
      name: "renamed",
      description: "before",
      endMicros: someMicros + 1,
      extra: { a: 1 },
    });
    await expect(
      fixture.store.write.projects.update(fixture.tenantId, created.id, {
        ...unchanged,
        name: "other",
      }),
    ).rejects.toMatchObject(taken("name"));
    expect(
      await fixture.store.write.projects.update(fixture.tenantId, created.id, {
        ...unchanged,
        name: "renamed",
      }),
    ).toMatchObject({ name: "renamed" });
    await expect(
      fixture.store.write.projects.update(fixture.tenantId, randomUUID(), unchanged),
    ).rejects.toMatchObject({ status: 404 });
  });

  test("a run that names a renamed project by its old name creates a new one", async () => {
    await fixture.send({ post: [wireRun({ session_name: "old" })] });
    const [project] = await fixture.store.read.projects.list(fixture.tenantId, {
      name: "old",
      limit: 1,
      offset: 0,
    });
    await fixture.store.write.projects.update(fixture.tenantId, project?.id ?? "", {
      ...unchanged,
      name: "new",
    });
    await fixture.send({ post: [wireRun({ session_name: "old" })] });
    expect(await namesOf({})).toEqual(["new", "old"]);
  });

  test("deleting a project deletes its runs and their shares, and no others", async () => {
    const [gone, kept] = [wireRun({ session_name: "p" }), wireRun({ session_name: "q" })];
    await fixture.send({ post: [gone, kept] });
    const token = await fixture.store.write.runs.share(fixture.tenantId, gone.id);
    const [project] = await fixture.store.read.projects.list(fixture.tenantId, {
      name: "p",
      limit: 1,
      offset: 0,
    });
    const remove = (): Promise<void> =>
      fixture.store.write.projects.delete(fixture.tenantId, project?.id ?? "");
    await remove();
    await expect(remove()).rejects.toMatchObject({ status: 404, message: "Session not found" });
    expect(await fixture.store.read.runs.find(fixture.tenantId, gone.id)).toBeUndefined();
    expect(await fixture.store.read.runs.findShared(token)).toBeUndefined();
    expect(await fixture.read(kept.id)).toMatchObject({ id: kept.id });
    expect(await namesOf({})).toEqual(["q"]);
    await fixture.send({ post: [wireRun({ session_name: "p" })] });
    expect(await namesOf({})).toEqual(["p", "q"]);
  });

  test("a list contains only projects that match its filters, page by page", async () => {
    const dataset = randomUUID();
    const metadata = { team: "a", deep: { x: 1, y: [2] } };
    await fixture.store.write.projects.create(
      fixture.tenantId,
      draft({ name: "a1", extra: { metadata } }),
    );
    await fixture.store.write.projects.create(
      fixture.tenantId,
      draft({ name: "a2", extra: { metadata: { team: "a" } } }),
    );
    await fixture.store.write.projects.create(
      fixture.tenantId,
      draft({ name: "b1", referenceDatasetId: dataset }),
    );
    expect(await namesOf({ isReferenceFree: true })).toEqual(["a1", "a2"]);
    expect(await namesOf({ isReferenceFree: false })).toEqual(["b1"]);
    expect(await namesOf({ referenceDatasetIds: [dataset, randomUUID()] })).toEqual(["b1"]);
    expect(await namesOf({ metadata: { deep: { y: [2], x: 1 } } })).toEqual(["a1"]);
    expect(await namesOf({ metadata: { team: "a" }, limit: 1, offset: 1 })).toEqual(["a2"]);
    expect(await namesOf({ metadata: { toString: null } })).toEqual([]);
    expect(await namesOf({ nameContains: "A", isReferenceFree: true })).toEqual(["a1", "a2"]);
  });
}

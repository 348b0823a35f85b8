import { randomUUID } from "node:crypto";
import { beforeEach, afterEach, expect, test } from "vitest";
import type { ProjectDraft, ProjectQuery } from "../src/projects/project.ts";
import type { Store } from "../src/store/store.ts";
import { StoreDesk } from "./support/store-desk.ts";
import { someMicros, wireRun } from "./support/wire-runs.ts";

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

/** What every storage engine must do with projects. */
export function describeProjects(open: () => Promise<Store>): void {
  let desk: StoreDesk;
  beforeEach(async () => {
    desk = new StoreDesk(await open());
  });
  afterEach(() => desk.store.close());

  const namesOf = async (query: Partial<ProjectQuery>): Promise<string[]> => {
    const found = await desk.store.read.projects.list(desk.store.defaultTenantId, {
      limit: 100,
      offset: 0,
      ...query,
    });
    return found.map(({ name }) => name);
  };

  test("a project is read back as it was created, whatever its texts contain", async () => {
    const text = `<b>'; DROP TABLE projects; --\u0000\ud800"`;
    const made = draft({
      name: text,
      description: text,
      endMicros: someMicros + 5,
      extra: { metadata: { [text]: text }, deep: [1, null, { a: true }] },
      referenceDatasetId: randomUUID(),
    });
    const { upsert: _upsert, ...project } = made;
    const expected = { ...project, tenantId: desk.store.defaultTenantId };
    expect(await desk.store.write.projects.create(desk.store.defaultTenantId, made)).toEqual(
      expected,
    );
    expect(await desk.store.read.projects.find(desk.store.defaultTenantId, made.id)).toEqual(
      expected,
    );
    expect(await namesOf({ name: text })).toEqual([text]);
  });

  test("a name or id that is taken is rejected, and the existing project stays unchanged", async () => {
    const first = draft({ description: "first" });
    await desk.store.write.projects.create(desk.store.defaultTenantId, first);
    await expect(
      desk.store.write.projects.create(
        desk.store.defaultTenantId,
        draft({ description: "second" }),
      ),
    ).rejects.toMatchObject(taken("name"));
    await expect(
      desk.store.write.projects.create(
        desk.store.defaultTenantId,
        draft({ id: first.id, name: "q" }),
      ),
    ).rejects.toMatchObject(taken("id"));
    expect(
      (await desk.store.read.projects.find(desk.store.defaultTenantId, first.id))?.description,
    ).toBe("first");
    expect(await namesOf({})).toEqual(["p"]);
  });

  test("an upsert updates the project with the name and keeps its id", async () => {
    const first = draft({ description: "first", extra: { a: 1 } });
    await desk.store.write.projects.create(desk.store.defaultTenantId, first);
    const fate = await desk.store.write.projects.create(
      desk.store.defaultTenantId,
      draft({ upsert: true, extra: { b: 2 } }),
    );
    expect(fate).toMatchObject({
      id: first.id,
      description: "first",
      extra: { b: 2 },
    });
  });

  test("an update changes the given fields only", async () => {
    const made = draft({ description: "before", extra: { a: 1 } });
    await desk.store.write.projects.create(desk.store.defaultTenantId, made);
    await desk.store.write.projects.create(desk.store.defaultTenantId, draft({ name: "other" }));
    const changes = { ...unchanged, name: "renamed", endMicros: someMicros + 1 };
    expect(
      await desk.store.write.projects.update(desk.store.defaultTenantId, made.id, changes),
    ).toMatchObject({ id: made.id });
    expect(await desk.store.read.projects.find(desk.store.defaultTenantId, made.id)).toMatchObject({
      name: "renamed",
      description: "before",
      endMicros: someMicros + 1,
      extra: { a: 1 },
    });
    await expect(
      desk.store.write.projects.update(desk.store.defaultTenantId, made.id, {
        ...unchanged,
        name: "other",
      }),
    ).rejects.toMatchObject(taken("name"));
    expect(
      await desk.store.write.projects.update(desk.store.defaultTenantId, made.id, {
        ...unchanged,
        name: "renamed",
      }),
    ).toMatchObject({ name: "renamed" });
    await expect(
      desk.store.write.projects.update(desk.store.defaultTenantId, randomUUID(), unchanged),
    ).rejects.toMatchObject({ status: 404 });
  });

  test("a run that names a renamed project by its old name creates a new one", async () => {
    await desk.send({ post: [wireRun({ session_name: "old" })] });
    const [project] = await desk.store.read.projects.list(desk.store.defaultTenantId, {
      name: "old",
      limit: 1,
      offset: 0,
    });
    await desk.store.write.projects.update(desk.store.defaultTenantId, project?.id ?? "", {
      ...unchanged,
      name: "new",
    });
    await desk.send({ post: [wireRun({ session_name: "old" })] });
    expect(await namesOf({})).toEqual(["new", "old"]);
  });

  test("deleting a project deletes its runs and their shares, and no others", async () => {
    const [gone, kept] = [wireRun({ session_name: "p" }), wireRun({ session_name: "q" })];
    await desk.send({ post: [gone, kept] });
    const token = await desk.store.write.runs.share(desk.store.defaultTenantId, gone.id);
    const [project] = await desk.store.read.projects.list(desk.store.defaultTenantId, {
      name: "p",
      limit: 1,
      offset: 0,
    });
    const remove = (): Promise<void> =>
      desk.store.write.projects.delete(desk.store.defaultTenantId, project?.id ?? "");
    await remove();
    await expect(remove()).rejects.toMatchObject({ status: 404, message: "Session not found" });
    expect(await desk.store.read.runs.find(desk.store.defaultTenantId, gone.id)).toBeUndefined();
    expect(await desk.store.read.runs.findShared(token)).toBeUndefined();
    expect(await desk.read(kept.id)).toMatchObject({ id: kept.id });
    expect(await namesOf({})).toEqual(["q"]);
    await desk.send({ post: [wireRun({ session_name: "p" })] });
    expect(await namesOf({})).toEqual(["p", "q"]);
  });

  test("a list contains only projects that match its filters, page by page", async () => {
    const dataset = randomUUID();
    const metadata = { team: "a", deep: { x: 1, y: [2] } };
    await desk.store.write.projects.create(
      desk.store.defaultTenantId,
      draft({ name: "a1", extra: { metadata } }),
    );
    await desk.store.write.projects.create(
      desk.store.defaultTenantId,
      draft({ name: "a2", extra: { metadata: { team: "a" } } }),
    );
    await desk.store.write.projects.create(
      desk.store.defaultTenantId,
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

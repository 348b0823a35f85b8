import { randomUUID } from "node:crypto";
import { beforeEach, afterEach, expect, test } from "vitest";
import type { ProjectDraft, ProjectQuery } from "../src/store/project.ts";
import type { Store } from "../src/store/run-store.ts";
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

/** What every engine does with projects. */
export function describeProjects(open: () => Promise<Store>): void {
  let desk: StoreDesk;
  beforeEach(async () => {
    desk = new StoreDesk(await open());
  });
  afterEach(() => desk.store.close());

  const namesOf = async (query: Partial<ProjectQuery>): Promise<string[]> => {
    const found = await desk.store.listProjects({ limit: 100, offset: 0, ...query });
    return found.map(({ name }) => name);
  };

  test("a project is read back as it was made, whatever its texts hold", async () => {
    const text = `<b>'; DROP TABLE projects; --\u0000\ud800"`;
    const made = draft({
      name: text,
      description: text,
      endMicros: someMicros + 5,
      extra: { metadata: { [text]: text }, deep: [1, null, { a: true }] },
      referenceDatasetId: randomUUID(),
    });
    const { upsert: _upsert, ...project } = made;
    const expected = { ...project, tenantId: desk.store.tenantId };
    expect(await desk.store.createProject(made)).toEqual({ kind: "written", project: expected });
    expect(await desk.store.findProject(made.id)).toEqual(expected);
    expect(await namesOf({ name: text })).toEqual([text]);
  });

  test("a taken name or id is refused, and what is there stays", async () => {
    const first = draft({ description: "first" });
    await desk.store.createProject(first);
    expect(await desk.store.createProject(draft({ description: "second" }))).toEqual({
      kind: "taken",
      what: "name",
    });
    expect(await desk.store.createProject(draft({ id: first.id, name: "q" }))).toEqual({
      kind: "taken",
      what: "id",
    });
    expect((await desk.store.findProject(first.id))?.description).toBe("first");
    expect(await namesOf({})).toEqual(["p"]);
  });

  test("an upsert changes the project of the name and keeps its id", async () => {
    const first = draft({ description: "first", extra: { a: 1 } });
    await desk.store.createProject(first);
    const fate = await desk.store.createProject(draft({ upsert: true, extra: { b: 2 } }));
    expect(fate).toMatchObject({
      kind: "written",
      project: { id: first.id, description: "first", extra: { b: 2 } },
    });
  });

  test("an update changes what is given, and nothing else", async () => {
    const made = draft({ description: "before", extra: { a: 1 } });
    await desk.store.createProject(made);
    await desk.store.createProject(draft({ name: "other" }));
    const changes = { ...unchanged, name: "renamed", endMicros: someMicros + 1 };
    expect(await desk.store.updateProject(made.id, changes)).toMatchObject({ kind: "written" });
    expect(await desk.store.findProject(made.id)).toMatchObject({
      name: "renamed",
      description: "before",
      endMicros: someMicros + 1,
      extra: { a: 1 },
    });
    expect(await desk.store.updateProject(made.id, { ...unchanged, name: "other" })).toEqual({
      kind: "taken",
      what: "name",
    });
    expect(
      await desk.store.updateProject(made.id, { ...unchanged, name: "renamed" }),
    ).toMatchObject({ kind: "written" });
    expect(await desk.store.updateProject(randomUUID(), unchanged)).toEqual({ kind: "missing" });
  });

  test("a run that names a renamed project makes a new one of the old name", async () => {
    await desk.send({ post: [wireRun({ session_name: "old" })] });
    const [project] = await desk.store.listProjects({ name: "old", limit: 1, offset: 0 });
    await desk.store.updateProject(project?.id ?? "", { ...unchanged, name: "new" });
    await desk.send({ post: [wireRun({ session_name: "old" })] });
    expect(await namesOf({})).toEqual(["new", "old"]);
  });

  test("deleting a project deletes its runs and their shares, and no others", async () => {
    const [gone, kept] = [wireRun({ session_name: "p" }), wireRun({ session_name: "q" })];
    await desk.send({ post: [gone, kept] });
    const token = (await desk.store.shareRun(gone.id)) ?? "";
    const [project] = await desk.store.listProjects({ name: "p", limit: 1, offset: 0 });
    expect(await desk.store.deleteProject(project?.id ?? "")).toBe(true);
    expect(await desk.store.deleteProject(project?.id ?? "")).toBe(false);
    expect(await desk.store.findRun(gone.id)).toBeUndefined();
    expect(await desk.store.findSharedRun(token)).toBeUndefined();
    expect(await desk.read(kept.id)).toMatchObject({ id: kept.id });
    expect(await namesOf({})).toEqual(["q"]);
    await desk.send({ post: [wireRun({ session_name: "p" })] });
    expect(await namesOf({})).toEqual(["p", "q"]);
  });

  test("a list leaves out what its filters do not pass, page by page", async () => {
    const dataset = randomUUID();
    const metadata = { team: "a", deep: { x: 1, y: [2] } };
    await desk.store.createProject(draft({ name: "a1", extra: { metadata } }));
    await desk.store.createProject(draft({ name: "a2", extra: { metadata: { team: "a" } } }));
    await desk.store.createProject(draft({ name: "b1", referenceDatasetId: dataset }));
    expect(await namesOf({ isReferenceFree: true })).toEqual(["a1", "a2"]);
    expect(await namesOf({ isReferenceFree: false })).toEqual(["b1"]);
    expect(await namesOf({ referenceDatasetIds: [dataset, randomUUID()] })).toEqual(["b1"]);
    expect(await namesOf({ metadata: { deep: { y: [2], x: 1 } } })).toEqual(["a1"]);
    expect(await namesOf({ metadata: { team: "a" }, limit: 1, offset: 1 })).toEqual(["a2"]);
    expect(await namesOf({ metadata: { toString: null } })).toEqual([]);
    expect(await namesOf({ nameContains: "A", isReferenceFree: true })).toEqual(["a1", "a2"]);
  });
}

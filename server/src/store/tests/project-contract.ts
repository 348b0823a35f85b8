import { beforeEach, expect, test } from "vitest";
import type { ProjectQuery } from "../../projects/project.ts";
import type { RunTestStore, StoreFixture } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const unchanged = { name: null, description: null, endMicros: null, extra: null };

/**
 * What every storage engine must do with projects that have runs; `project-repositories.test.ts` tests projects alone.
 * `open` gives each test a tenant without rows.
 */
export function describeProjects(open: () => Promise<StoreFixture<RunTestStore>>): void {
  let fixture: StoreFixture<RunTestStore>;
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
}

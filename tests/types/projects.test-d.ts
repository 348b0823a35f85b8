import { expectTypeOf, test } from "vitest";
import type { Client, Pages, Project, RunStats } from "../../src/main/index.ts";

declare const projects: Client["projects"];
declare const signal: AbortSignal;
const id = "0f0e0d0c-0b0a-4908-8706-050403020100";

test("a project is named by its id or by its name, never both or neither", () => {
  expectTypeOf(projects.read({ projectId: id, includeStats: true })).toEqualTypeOf<
    Promise<Project>
  >();
  expectTypeOf(projects.has({ projectName: "p", signal })).toEqualTypeOf<Promise<boolean>>();
  expectTypeOf(projects.url({ projectId: id })).toEqualTypeOf<Promise<string>>();
  expectTypeOf(projects.delete({ projectName: "p" })).toEqualTypeOf<Promise<void>>();
  // @ts-expect-error only one of the two is allowed
  void projects.read({ projectId: id, projectName: "p" });
  // @ts-expect-error one of the two is required
  void projects.read({ includeStats: true });
  // @ts-expect-error an argument is required
  void projects.delete();
});

test("a list is of pages, and stats may not be there", async () => {
  expectTypeOf(projects.list()).toEqualTypeOf<Pages<Project>>();
  expectTypeOf(projects.list({ signal }).toArray()).toEqualTypeOf<Promise<Project[]>>();
  for await (const project of projects.list({ referenceFree: true })) {
    expectTypeOf(project.stats).toEqualTypeOf<RunStats | undefined>();
    // @ts-expect-error read only
    project.name = "other";
  }
});

test("what is made has a name; what is changed names none of the wire's members", () => {
  expectTypeOf(projects.create({ name: "p", upsert: true })).toEqualTypeOf<Promise<Project>>();
  // @ts-expect-error a name is required
  void projects.create({ description: "d" });
  void projects.update({ projectId: id, endTime: new Date(), name: undefined });
  // @ts-expect-error no such option
  void projects.update({ projectId: id, end_time: new Date() });
});

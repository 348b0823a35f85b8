import { expect, test } from "vitest";
import { parseProjects } from "../../../src/features/projects/project.ts";
import { parseProjectsSearch } from "../../../src/features/projects/routes.ts";

test("a project without a tenant is rejected", () => {
  const id = "01a1fdd6-4f66-7780-95ba-dad9c9386eb3";
  expect(() => parseProjects([{ id, name: "x" }])).toThrow(/without id, tenant or name/);
});

test("a name in the URL is parsed as text, or left out", () => {
  expect(parseProjectsSearch({ name: 12 })).toEqual({ name: "12" });
  expect(parseProjectsSearch({ name: ["a"] })).toEqual({});
});

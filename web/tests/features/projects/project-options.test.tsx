import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import {
  findFirstProject,
  ProjectOptions,
} from "../../../src/features/projects/project-options.tsx";

afterEach(cleanup);

const experiment = { id: "e", name: "a run over a dataset", isExperiment: true };
const project = { id: "p", name: "support", isExperiment: false };

test("a selector has projects first, and experiments in a group of their own", () => {
  render(
    <select>
      <ProjectOptions projects={[experiment, project]} />
    </select>,
  );
  const options = screen.getAllByRole("option").map(({ textContent }) => textContent);
  expect(options).toEqual(["support", "a run over a dataset"]);
  const group = screen.getByRole("group", { name: "Experiments" });
  expect(group.textContent).toBe("a run over a dataset");
});

test("a page begins with a project; with an experiment only if there is nothing else", () => {
  expect(findFirstProject([experiment, project])?.id).toBe("p");
  expect(findFirstProject([experiment])?.id).toBe("e");
  expect(findFirstProject([])).toBeUndefined();
});

import { toVisibleText } from "../../components/text/visible-text.ts";
import type { Project } from "./project.ts";

type SelectableProject = Pick<Project, "id" | "name" | "isExperiment">;

/** The options of a selector of projects. Experiments are in a group of their own, below the projects. */
export const ProjectOptions = ({
  projects,
}: {
  readonly projects: readonly SelectableProject[];
}) => {
  const experiments = projects.filter(({ isExperiment }) => isExperiment);
  return (
    <>
      {projects.filter(({ isExperiment }) => !isExperiment).map((project) => createOption(project))}
      {experiments.length > 0 && (
        <optgroup label="Experiments">
          {experiments.map((project) => createOption(project))}
        </optgroup>
      )}
    </>
  );
};

const createOption = ({ id, name }: SelectableProject) => (
  <option key={id} value={id}>
    {toVisibleText(name)}
  </option>
);

/** Returns the project that a page shows first: a project, or an experiment if there are only experiments. */
export const findFirstProject = <Found extends SelectableProject>(
  projects: readonly Found[],
): Found | undefined => projects.find(({ isExperiment }) => !isExperiment) ?? projects[0];

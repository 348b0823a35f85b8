import { toVisibleText } from "../../components/text/visible-text.ts";
import type { Project } from "./project.ts";

type SelectableProject = Pick<Project, "id" | "name" | "isExperiment">;

/** The options of a select box of projects. Experiments are in a separate group below the projects. */
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

/**
 * Returns the project that a page shows by default: the first project that is not an experiment, or else the first
 * experiment.
 */
export const findFirstProject = <Found extends SelectableProject>(
  projects: readonly Found[],
): Found | undefined => projects.find(({ isExperiment }) => !isExperiment) ?? projects[0];

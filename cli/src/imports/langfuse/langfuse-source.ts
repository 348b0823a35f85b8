import type { ImportSource } from "../model/import-source.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import { createDatasetPhase } from "./dataset-phase.ts";
import { readProject } from "./langfuse-project.ts";
import type { LangfuseProject } from "./langfuse-project.ts";
import { createPromptPhase } from "./prompt-phase.ts";
import { createScorePhase } from "./score-phase.ts";
import { createProjectPhase } from "./trace-phase.ts";

/** Creates the source that imports from Langfuse, from the project that the key belongs to. */
export function createLangfuseSource(settings: ImportSettings): ImportSource {
  const { kinds } = settings;
  let project: Promise<LangfuseProject> | undefined;
  const readOnce = (): Promise<LangfuseProject> => (project ??= readProject(settings));
  return {
    connect: async () => (await readOnce()).id,
    phases: [
      ...(kinds.has("datasets") ? [createDatasetPhase(settings, readOnce)] : []),
      ...(kinds.has("projects") || kinds.has("runs")
        ? [createProjectPhase(settings, readOnce)]
        : []),
      ...(kinds.has("feedback") ? [createScorePhase(settings, readOnce)] : []),
      ...(kinds.has("prompts") ? [createPromptPhase(settings)] : []),
    ],
  };
}

import type { KeyValues } from "millrace/model";
import type { ImportSource } from "../model/import-source.ts";
import { toObject, toText } from "../model/json-values.ts";
import { SourceError } from "../source/source-client.ts";
import type { SourceClient } from "../source/source-client.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import { createBaselinePhase } from "./baseline-phase.ts";
import { createDatasetPhase } from "./dataset-phase.ts";
import { createFeedbackPhase } from "./feedback-phase.ts";
import { listProjects } from "./list-projects.ts";
import { createPromptPhase } from "./prompt-phase.ts";
import { createRunPhase } from "./run-phase.ts";

/**
 * Creates the source that imports from LangSmith, or from a server with LangSmith's API, such as another Millrace
 * server.
 */
export function createLangsmithSource(settings: ImportSettings): ImportSource {
  const { client, kinds, projectNames } = settings;
  const listOnce = createOnce(() => listProjects(client, projectNames));
  const needsProjects = kinds.has("projects") || kinds.has("runs");
  return {
    connect: async () => {
      const workspace = await readWorkspace(client);
      if (projectNames !== undefined) {
        await listOnce();
      }
      return toText(workspace["id"]) ?? "";
    },
    phases: [
      ...(kinds.has("datasets") ? [createDatasetPhase(settings)] : []),
      ...(needsProjects ? [createRunPhase(settings, listOnce)] : []),
      ...(kinds.has("datasets") ? [createBaselinePhase(settings)] : []),
      ...(kinds.has("feedback") ? [createFeedbackPhase(settings, listOnce)] : []),
      ...(kinds.has("prompts") ? [createPromptPhase(settings)] : []),
    ],
  };
}

/**
 * Reads the workspace that the key belongs to. The request of `/info` needs no key, so its failure shows that the
 * address is wrong, not the key.
 */
async function readWorkspace(client: SourceClient): Promise<KeyValues> {
  const info = toObject((await client.find("/info")) ?? {});
  if (toText(info["version"]) === undefined) {
    throw new SourceError(
      `${client.address} is not a LangSmith server: it has no /info with a version. The API of the hosted service is at https://api.smith.langchain.com, in the EU at https://eu.api.smith.langchain.com; for a self-hosted server, append /api to its address`,
    );
  }
  return toObject(await client.get("/settings"));
}

/** Returns a function that calls `read` at its first call, and returns the same promise at every later call. */
function createOnce<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let result: Promise<Value> | undefined;
  return () => (result ??= read());
}

import { toObject, toObjects, toText } from "../model/json-values.ts";
import { SourceError } from "../source/source-client.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import { LangfuseIds } from "./langfuse-ids.ts";

/** The Langfuse project that the key belongs to. */
export interface LangfuseProject {
  readonly id: string;
  readonly name: string;
  readonly ids: LangfuseIds;
}

/**
 * Reads the project that the key belongs to.
 *
 * @throws {@link SourceError} if the server is not Langfuse, or `--project` does not name the project of the key.
 */
export async function readProject({
  client,
  projectNames,
}: ImportSettings): Promise<LangfuseProject> {
  // This request needs no key, so its failure shows that the address is wrong, not the key.
  const health = toObject((await client.find("/api/public/health")) ?? {});
  if (toText(health["version"]) === undefined) {
    throw new SourceError(
      `${client.address} is not a Langfuse server: it has no /api/public/health with a version. Pass its address without a path, such as https://cloud.langfuse.com or https://us.cloud.langfuse.com`,
    );
  }
  const [json] = toObjects(toObject(await client.get("/api/public/projects"))["data"]);
  const [id, name] = [toText(json?.["id"]), toText(json?.["name"])];
  if (id === undefined || name === undefined) {
    throw new SourceError(
      `the key belongs to no project of ${client.address}: use the keys of a project, not those of an organization`,
    );
  }
  if (projectNames !== undefined && !projectNames.includes(name)) {
    throw new SourceError(
      `the key belongs to the project ${JSON.stringify(name)}, not to ${projectNames.map((project) => JSON.stringify(project)).join(" or ")}. Each project of Langfuse has keys of its own: leave out --project, or use another key`,
    );
  }
  return { id, name, ids: new LangfuseIds(id) };
}

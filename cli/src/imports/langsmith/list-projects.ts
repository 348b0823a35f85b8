import type { KeyValues } from "millrace/model";
import { toObjects } from "../model/json-values.ts";
import { readAllByOffset } from "../source/pages.ts";
import { readIdAndName, SourceError } from "../source/source-client.ts";
import type { SourceClient } from "../source/source-client.ts";

export interface SourceProject {
  readonly id: string;
  readonly name: string;
  readonly json: KeyValues;
}

/**
 * Lists projects, including experiments.
 *
 * @throws {@link SourceError} if one of the given names does not exist.
 */
export async function listProjects(
  client: SourceClient,
  names: readonly string[] | undefined,
): Promise<readonly SourceProject[]> {
  if (names === undefined) {
    const projects: SourceProject[] = [];
    for await (const project of listMatching(client, {})) {
      projects.push(project);
    }
    return projects;
  }
  const projects: SourceProject[] = [];
  for (const name of new Set(names)) {
    const namedProject = await findByName(client, name);
    if (namedProject === undefined) {
      throw new SourceError(
        `${client.address} has no project ${JSON.stringify(name)}. Check --project; without it, all projects are imported`,
      );
    }
    projects.push(namedProject);
  }
  return projects;
}

async function findByName(client: SourceClient, name: string): Promise<SourceProject | undefined> {
  for await (const project of listMatching(client, { name })) {
    if (project.name === name) {
      return project;
    }
  }
  return undefined;
}

const listMatching = (
  client: SourceClient,
  query: Readonly<Record<string, string>>,
): AsyncGenerator<SourceProject> =>
  readAllByOffset(async (page) =>
    toObjects(
      // Sort by name: if sorted by time, projects that begin during the import would shift the pages.
      await client.get("/sessions", { ...query, ...page, sort_by: "name", sort_by_desc: "false" }),
    ).map(parseProject),
  );

function parseProject(json: KeyValues): SourceProject {
  // The other members are statistics, which are not imported and would take memory.
  const { description, extra, start_time, end_time, reference_dataset_id } = json;
  return {
    ...readIdAndName(json, "project"),
    json: { description, extra, start_time, end_time, reference_dataset_id },
  };
}

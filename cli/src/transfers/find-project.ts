import { NotFoundError } from "millrace";
import type { Client, Project } from "millrace";
import { isId } from "../local-server/server-flags.ts";
import { describeMissing, maxComparedNames } from "./describe-missing.ts";

/**
 * Reads a project by its name or id.
 *
 * @throws {@link Error} if it does not exist; the message contains the most similar names.
 */
export async function findProject(
  client: Client,
  projectIdOrName: string,
  signal: AbortSignal,
): Promise<Project> {
  try {
    return await client.projects.read(
      isId(projectIdOrName)
        ? { projectId: projectIdOrName, signal }
        : { projectName: projectIdOrName, signal },
    );
  } catch (cause) {
    if (!(cause instanceof NotFoundError)) {
      throw cause;
    }
    const projects = await client.projects.list({ limit: maxComparedNames, signal }).toArray();
    const names = projects.map(({ name }) => name);
    throw new Error(describeMissing("project", projectIdOrName, { names }), { cause });
  }
}

import type { KeyValues } from "millrace/model";
import type { Phase } from "../model/import-source.ts";
import { isObject, toObject, toObjects, toText, toTexts, toTime } from "../model/json-values.ts";
import { readAllByOffset } from "../source/pages.ts";
import { SourceError } from "../source/source-client.ts";
import type { SourceVersion } from "../target/add-prompt.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import { toPromptPhase } from "../target/prompt-phase.ts";

/** Creates the phase that imports the prompts of the workspace with all of their commits. */
export const createPromptPhase = (settings: ImportSettings): Phase =>
  toPromptPhase(settings.target, "langsmith", async () =>
    (await listRepos(settings)).map(({ handle: name, json }) => ({
      name,
      read: async () => ({
        description: toText(json["description"]),
        readme: toText(json["readme"]),
        tags: toTexts(json["tags"]),
        isArchived: json["is_archived"] === true,
        versions: await listVersions(settings, encodeURIComponent(name)),
      }),
    })),
  );

interface SourceRepo {
  readonly handle: string;
  readonly json: KeyValues;
}

/**
 * Lists the prompts of the key's workspace. Public prompts of other workspaces, which servers list as well, are left
 * out.
 */
async function listRepos({ client }: ImportSettings): Promise<readonly SourceRepo[]> {
  const tenantId = toText(toObject(await client.get("/settings"))["id"]);
  const repos: SourceRepo[] = [];
  for (const isArchived of ["false", "true"]) {
    const rows = readAllByOffset(async (page) =>
      toObjects(
        toObject(
          await client.get("/repos", {
            ...page,
            tenant_id: tenantId,
            is_archived: isArchived,
            sort_field: "updated_at",
            sort_direction: "asc",
          }),
        )["repos"],
      ),
    );
    for await (const row of rows) {
      const handle = toText(row["repo_handle"]);
      if (handle !== undefined && (tenantId === undefined || row["tenant_id"] === tenantId)) {
        const { description, readme, tags, is_archived } = row;
        repos.push({ handle, json: { description, readme, tags, is_archived } });
      }
    }
  }
  return repos;
}

/** Lists the commits of a prompt, oldest first. */
async function listVersions(
  { client }: ImportSettings,
  path: string,
): Promise<readonly SourceVersion[]> {
  const tags = new Map<string, string[]>();
  for (const row of toObjects((await client.find(`/repos/-/${path}/tags`)) ?? [])) {
    const [hash, name] = [toText(row["commit_hash"]), toText(row["tag_name"])];
    if (hash !== undefined && name !== undefined) {
      tags.set(hash, [...(tags.get(hash) ?? []), name]);
    }
  }
  const versions: SourceVersion[] = [];
  const commits = readAllByOffset(async (page) =>
    toObjects(toObject(await client.get(`/commits/-/${path}/`, page))["commits"]),
  );
  for await (const row of commits) {
    const hash = toText(row["commit_hash"]);
    if (hash !== undefined) {
      const description = toText(row["description"]);
      versions.push({
        id: hash,
        createdAt: toTime(row["created_at"]),
        read: async () => {
          const json = toObject(
            await client.get(`/commits/-/${path}/${hash}`, { include_model: "true" }),
          );
          if (!isObject(json["manifest"])) {
            throw new SourceError(`the commit ${hash} of ${path} has no manifest`);
          }
          return { manifest: json["manifest"], description, tags: tags.get(hash) ?? [] };
        },
      });
    }
  }
  return versions.toReversed();
}

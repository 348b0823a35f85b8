import { ValidationError } from "millrace";
import type { KeyValues } from "millrace/model";
import { chatPrompt, listVariables } from "millrace/prompts";
import type { ChatPromptMessage } from "millrace/prompts";
import type { Phase } from "../model/import-source.ts";
import { omitUndefined } from "../../omit-undefined.ts";
import {
  isObject,
  toList,
  toNumber,
  toObject,
  toObjects,
  toText,
  toTexts,
  toTime,
} from "../model/json-values.ts";
import { readAllByOffset } from "../source/pages.ts";
import type { LeftOutVersion, SourceVersion, VersionContent } from "../target/add-prompt.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import { toPromptPhase } from "../target/prompt-phase.ts";
import { readDataPage } from "./data-page.ts";

/** Creates the phase that imports prompts. Each version becomes a commit, and each label a tag. */
export const createPromptPhase = (settings: ImportSettings): Phase =>
  toPromptPhase(settings.target, "langfuse", async () =>
    (await listPrompts(settings)).map(({ name, versions, tags }) => ({
      name,
      read: async (handle) => ({
        description: handle === name ? undefined : `Langfuse prompt ${JSON.stringify(name)}`,
        tags,
        isArchived: false,
        versions: versions.map((version): SourceVersion => ({
          id: String(version),
          read: () => readVersion(settings, name, version),
        })),
      }),
    })),
  );

interface PromptVersions {
  readonly name: string;
  readonly versions: readonly number[];
  readonly tags: readonly string[];
}

async function listPrompts({ client }: ImportSettings): Promise<readonly PromptVersions[]> {
  const prompts: PromptVersions[] = [];
  const rows = readAllByOffset((range) => readDataPage(client, "/api/public/v2/prompts", range));
  for await (const row of rows) {
    const name = toText(row["name"]);
    if (name !== undefined) {
      const versions = toList(row["versions"]).flatMap((version) => toNumber(version) ?? []);
      prompts.push({
        name,
        versions: versions.toSorted((left, right) => left - right),
        tags: toTexts(row["tags"]),
      });
    }
  }
  return prompts;
}

async function readVersion(
  { client }: ImportSettings,
  name: string,
  version: number,
): Promise<VersionContent | LeftOutVersion> {
  // In this response, references to other prompts are already replaced by their texts. A Millrace prompt can't refer to
  // other prompts.
  const response = await client.find(`/api/public/v2/prompts/${encodeURIComponent(name)}`, {
    version,
  });
  if (response === undefined) {
    return { leftOut: "it was deleted during the import" };
  }
  const json = toObject(response);
  try {
    return {
      manifest: toManifest(json),
      description: toText(json["commitMessage"]),
      createdAt: toTime(json["createdAt"]),
      tags: toTexts(json["labels"]),
    };
  } catch (error) {
    if (error instanceof ValidationError) {
      return { leftOut: error.message };
    }
    throw error;
  }
}

/**
 * Converts a version to a manifest. Its variables, such as `{{name}}`, are not changed, because they are valid
 * Mustache.
 *
 * @throws ValidationError if a message has a role or a template that manifests can't have.
 */
function toManifest(prompt: KeyValues): KeyValues {
  const content = prompt["prompt"];
  const manifest =
    typeof content === "string"
      ? createTextManifest(content)
      : chatPrompt(toObjects(content).map(toMessage), { format: "mustache" });
  return {
    ...manifest,
    kwargs: {
      ...toObject(manifest["kwargs"]),
      // Include the version and the configuration, so that manifests with the same messages but different
      // configurations differ.
      metadata: omitUndefined({
        langfuse_prompt: prompt["name"],
        langfuse_version: prompt["version"],
        langfuse_config: isObject(prompt["config"]) ? prompt["config"] : undefined,
      }),
    },
  };
}

/** Creates the manifest of a prompt without messages: a text prompt in Langfuse, a prompt template in LangChain. */
function createTextManifest(template: string): KeyValues {
  const create = (variables: readonly string[]): KeyValues => ({
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "prompts", "prompt", "PromptTemplate"],
    kwargs: { input_variables: variables, template, template_format: "mustache" },
  });
  return create(listVariables(create([])));
}

function toMessage(message: KeyValues): ChatPromptMessage {
  const { type, name, role, content } = message;
  if (type === "placeholder") {
    return { placeholder: toText(name) ?? "" };
  }
  return [role, typeof content === "string" ? content : ""] as ChatPromptMessage;
}

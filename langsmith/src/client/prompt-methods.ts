import { omitUndefined } from "../omit-undefined.ts";
import type { ListPrompts, PromptSortField as MillraceSortField } from "millrace";
import type { Any } from "../any.ts";
import { createUnsupportedError } from "../unsupported.ts";
import type {
  AgentContext,
  Entry,
  LikePromptResponse,
  Prompt,
  PromptCommit,
  PromptSortField,
  SkillContext,
} from "../schemas.ts";
import { convert } from "./base-client.ts";
import { FeedbackMethods } from "./feedback-methods.ts";
import { isNotFound } from "./run-methods.ts";
import { toListedCommit, toPrompt, toPromptCommit } from "./to-langsmith.ts";

/** The fields that describe a prompt. */
interface PromptText {
  description?: string;
  readme?: string;
  tags?: string[];
  isPublic?: boolean;
}

/** Options for pulling a prompt. */
interface PullOptions {
  includeModel?: boolean;
  skipCache?: boolean;
  dangerouslyPullPublicPrompt?: boolean;
}

const sortFields: Readonly<Record<PromptSortField, MillraceSortField>> = {
  updated_at: "updatedAt",
  num_likes: "likes",
  num_downloads: "downloads",
  num_views: "views",
};

/** The part of the client for prompts. */
export class PromptMethods extends FeedbackMethods {
  async promptExists(promptIdentifier: string): Promise<boolean> {
    return this.millrace.prompts.has(promptIdentifier);
  }

  async likePrompt(promptIdentifier: string): Promise<LikePromptResponse> {
    return { likes: await this.millrace.prompts.like(promptIdentifier) };
  }

  async unlikePrompt(promptIdentifier: string): Promise<LikePromptResponse> {
    return { likes: await this.millrace.prompts.unlike(promptIdentifier) };
  }

  async *listCommits(promptIdentifier: string): AsyncIterableIterator<PromptCommit> {
    yield* convert(this.millrace.prompts.listCommits(promptIdentifier), toListedCommit);
  }

  async *listPrompts(
    options: {
      isPublic?: boolean;
      isArchived?: boolean;
      sortField?: PromptSortField;
      query?: string;
    } = {},
  ): AsyncIterableIterator<Prompt> {
    const { sortField, isArchived = false, ...others } = options;
    const filter: ListPrompts = omitUndefined({
      ...others,
      isArchived,
      sortField: sortField && sortFields[sortField],
    });
    yield* convert(this.millrace.prompts.list(filter), toPrompt);
  }

  async getPrompt(promptIdentifier: string): Promise<Prompt | null> {
    try {
      return toPrompt(await this.millrace.prompts.read(promptIdentifier));
    } catch (error) {
      if (isNotFound(error)) {
        return null;
      }
      throw error;
    }
  }

  async createPrompt(promptIdentifier: string, options: PromptText = {}): Promise<Prompt> {
    return toPrompt(await this.millrace.prompts.create(promptIdentifier, omitUndefined(options)));
  }

  async createCommit(
    promptIdentifier: string,
    object: Any,
    options: { parentCommitHash?: string; tags?: string | string[]; description?: string } = {},
  ): Promise<string> {
    const { parentCommitHash, tags, description } = options;
    const { commitHash } = await this.millrace.prompts.commit(promptIdentifier, {
      manifest: toManifest(object),
      ...omitUndefined({
        parentCommit: parentCommitHash === "latest" ? undefined : parentCommitHash,
        tags: tags === undefined ? undefined : [tags].flat(),
        description,
      }),
    });
    return this.millrace.prompts.url(`${promptIdentifier}:${commitHash}`);
  }

  /** Changes a prompt. The member `repo` of the result is the changed prompt. */
  async updatePrompt(
    promptIdentifier: string,
    options: PromptText & { isArchived?: boolean } = {},
  ): Promise<Record<string, Any>> {
    const prompt = await this.millrace.prompts.update(promptIdentifier, omitUndefined(options));
    return { repo: toPrompt(prompt) };
  }

  async deletePrompt(promptIdentifier: string): Promise<void> {
    await this.millrace.prompts.delete(promptIdentifier);
  }

  /** Reads a prompt's content, from the client's cache if the cached content is recent enough. */
  async pullPromptCommit(
    promptIdentifier: string,
    options: PullOptions = {},
  ): Promise<PromptCommit> {
    const pull = omitUndefined({ includeModel: options.includeModel });
    const skipsCache =
      options.skipCache === true ||
      this.config.disablePromptCache === true ||
      this.config.cache === false;
    return toPromptCommit(
      skipsCache
        ? await this.millrace.prompts.pull(promptIdentifier, pull)
        : await this.millrace.prompts.get(promptIdentifier, pull),
    );
  }

  /** Called by LangChain. */
  async _pullPrompt(promptIdentifier: string, options?: PullOptions): Promise<string> {
    return JSON.stringify((await this.pullPromptCommit(promptIdentifier, options)).manifest);
  }

  /**
   * Creates or updates a prompt, adds a commit if `object` is passed, and returns the address of the prompt or the
   * commit.
   */
  async pushPrompt(
    promptIdentifier: string,
    options: PromptText & {
      object?: Any;
      parentCommitHash?: string;
      commitTags?: string | string[];
      commitDescription?: string;
    } = {},
  ): Promise<string> {
    const { parentCommitHash, commitTags, commitDescription, ...fields } = options;
    const { object, ...text } = fields as PromptText & { readonly object?: unknown };
    const { url } = await this.millrace.prompts.push(
      promptIdentifier,
      omitUndefined({
        ...text,
        manifest: object === undefined ? undefined : toManifest(object),
        parentCommit: parentCommitHash === "latest" ? undefined : parentCommitHash,
        commitTags: commitTags === undefined ? undefined : [commitTags].flat(),
        commitDescription,
      }),
    );
    return url;
  }

  /** Not supported. */
  pullAgent(_identifier: string, _options?: { version?: string }): Promise<AgentContext> {
    throw createUnsupportedError("Client.pullAgent", agentAdvice);
  }

  /** Not supported. */
  pullSkill(_identifier: string, _options?: { version?: string }): Promise<SkillContext> {
    throw createUnsupportedError("Client.pullSkill", agentAdvice);
  }

  /** Not supported. */
  pushAgent(
    _identifier: string,
    _options: { files: Record<string, Entry | null> },
  ): Promise<string> {
    throw createUnsupportedError("Client.pushAgent", agentAdvice);
  }

  /** Not supported. */
  pushSkill(
    _identifier: string,
    _options: { files: Record<string, Entry | null> },
  ): Promise<string> {
    throw createUnsupportedError("Client.pushSkill", agentAdvice);
  }

  /** Not supported. */
  deleteAgent(_identifier: string): Promise<void> {
    throw createUnsupportedError("Client.deleteAgent", agentAdvice);
  }

  /** Not supported. */
  deleteSkill(_identifier: string): Promise<void> {
    throw createUnsupportedError("Client.deleteSkill", agentAdvice);
  }

  /** Not supported. */
  agentExists(_identifier: string): Promise<boolean> {
    throw createUnsupportedError("Client.agentExists", agentAdvice);
  }

  /** Not supported. */
  skillExists(_identifier: string): Promise<boolean> {
    throw createUnsupportedError("Client.skillExists", agentAdvice);
  }

  /** Not supported. */
  listAgents(_options?: object): AsyncIterableIterator<Prompt> {
    throw createUnsupportedError("Client.listAgents", agentAdvice);
  }

  /** Not supported. */
  listSkills(_options?: object): AsyncIterableIterator<Prompt> {
    throw createUnsupportedError("Client.listSkills", agentAdvice);
  }
}

const agentAdvice = "Keep the files of agents and skills in your repository, or in prompts.";

/** Converts an object to plain JSON. Objects of LangChain have a method `toJSON`. */
const toManifest = (object: unknown): object => JSON.parse(JSON.stringify(object)) as object;

import type { ListPrompts, PromptSortField as MillraceSortField } from "millrace";
import type { Any } from "../any.ts";
import { notThere } from "../not-there.ts";
import type {
  AgentContext,
  Entry,
  LikePromptResponse,
  Prompt,
  PromptCommit,
  PromptSortField,
  SkillContext,
} from "../schemas.ts";
import { convert, defined } from "./base-client.ts";
import { FeedbackMethods } from "./feedback-methods.ts";
import { isNotFound } from "./run-methods.ts";
import { toListedCommit, toPrompt, toPromptCommit } from "./to-langsmith.ts";

/** What is written about a prompt. */
interface PromptText {
  description?: string;
  readme?: string;
  tags?: string[];
  isPublic?: boolean;
}

/** Options of pulling a prompt. */
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
    const filter: ListPrompts = defined({
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
    return toPrompt(await this.millrace.prompts.create(promptIdentifier, defined(options)));
  }

  async createCommit(
    promptIdentifier: string,
    object: Any,
    options: { parentCommitHash?: string; tags?: string | string[]; description?: string } = {},
  ): Promise<string> {
    const { parentCommitHash, tags, description } = options;
    const { commitHash } = await this.millrace.prompts.commit(promptIdentifier, {
      manifest: toManifest(object),
      ...defined({
        parentCommit: parentCommitHash === "latest" ? undefined : parentCommitHash,
        tags: tags === undefined ? undefined : [tags].flat(),
        description,
      }),
    });
    return this.millrace.prompts.url(`${promptIdentifier}:${commitHash}`);
  }

  async updatePrompt(
    promptIdentifier: string,
    options: PromptText & { isArchived?: boolean } = {},
  ): Promise<Record<string, Any>> {
    return toPrompt(await this.millrace.prompts.update(promptIdentifier, defined(options)));
  }

  async deletePrompt(promptIdentifier: string): Promise<void> {
    await this.millrace.prompts.delete(promptIdentifier);
  }

  /** Reads a prompt's content, from the client's cache if it is recent. */
  async pullPromptCommit(
    promptIdentifier: string,
    options: PullOptions = {},
  ): Promise<PromptCommit> {
    const pull = defined({ includeModel: options.includeModel });
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

  /** Creates or updates a prompt, and adds a commit if there is an object. Returns its address. */
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
      defined({
        ...text,
        manifest: object === undefined ? undefined : toManifest(object),
        parentCommit: parentCommitHash === "latest" ? undefined : parentCommitHash,
        commitTags: commitTags === undefined ? undefined : [commitTags].flat(),
        commitDescription,
      }),
    );
    return url;
  }

  /** Not there. */
  pullAgent(_identifier: string, _options?: { version?: string }): Promise<AgentContext> {
    throw notThere("Client.pullAgent", agentInstead);
  }

  /** Not there. */
  pullSkill(_identifier: string, _options?: { version?: string }): Promise<SkillContext> {
    throw notThere("Client.pullSkill", agentInstead);
  }

  /** Not there. */
  pushAgent(
    _identifier: string,
    _options: { files: Record<string, Entry | null> },
  ): Promise<string> {
    throw notThere("Client.pushAgent", agentInstead);
  }

  /** Not there. */
  pushSkill(
    _identifier: string,
    _options: { files: Record<string, Entry | null> },
  ): Promise<string> {
    throw notThere("Client.pushSkill", agentInstead);
  }

  /** Not there. */
  deleteAgent(_identifier: string): Promise<void> {
    throw notThere("Client.deleteAgent", agentInstead);
  }

  /** Not there. */
  deleteSkill(_identifier: string): Promise<void> {
    throw notThere("Client.deleteSkill", agentInstead);
  }

  /** Not there. */
  agentExists(_identifier: string): Promise<boolean> {
    throw notThere("Client.agentExists", agentInstead);
  }

  /** Not there. */
  skillExists(_identifier: string): Promise<boolean> {
    throw notThere("Client.skillExists", agentInstead);
  }

  /** Not there. */
  listAgents(_options?: object): AsyncIterableIterator<Prompt> {
    throw notThere("Client.listAgents", agentInstead);
  }

  /** Not there. */
  listSkills(_options?: object): AsyncIterableIterator<Prompt> {
    throw notThere("Client.listSkills", agentInstead);
  }
}

const agentInstead = "Keep the files of agents and skills in your repository, or in prompts.";

/** Returns the object as JSON holds it: objects of LangChain serialize themselves. */
const toManifest = (object: unknown): object => JSON.parse(JSON.stringify(object)) as object;

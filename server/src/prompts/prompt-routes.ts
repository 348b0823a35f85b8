import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import type { Static } from "typebox";
import { commitBody, createCommit, listCommits, readCommit } from "./prompt-commit-handlers.ts";
import {
  createTag,
  deleteTag,
  listTags,
  readTag,
  tagBody,
  tagPatchBody,
  updateTag,
} from "./prompt-tag-handlers.ts";
import {
  createPrompt,
  deletePrompt,
  deletePrompts,
  likeBody,
  likePrompt,
  listPrompts,
  promptBody,
  promptPatchBody,
  readPrompt,
  updatePrompt,
} from "./prompt-handlers.ts";
import type { PromptBody, PromptPatchBody } from "./prompt-handlers.ts";
import { route } from "../http/route.ts";
import type { PromptStore } from "./prompt-store.ts";

const tag = "prompts";
const page = {
  limit: "At most so many, 1 to 100; 20 where it is left out.",
  offset: "So many are skipped.",
};

/** The prompt hub. The owner `-` is the tenant that asks. */
export function addPromptRoutes(app: FastifyInstance, store: PromptStore): void {
  addRepoRoutes(app, store);
  addCommitRoutes(app, store);
  addTagRoutes(app, store);
}

function addRepoRoutes(app: FastifyInstance, store: PromptStore): void {
  app.route({
    ...route(endpoints.listPrompts, {
      tag,
      summary: "One's own prompts, and the public ones of others.",
      query: {
        query: "Part of the handle or the description, in either case.",
        tenant_handle: "The handle of their owner.",
        tenant_id: "The id of their owner.",
        is_public: "true or false; both where it is left out.",
        is_archived: "true, false, or allow for both; false where it is left out.",
        has_commits: "true or false.",
        tags: "Tags, all of which it has; may be repeated.",
        repo_type: "prompt, file, agent or skill; prompt where it is left out.",
        repo_types: "As repo_type; may be repeated.",
        source: "internal or external.",
        sort_field: "updated_at, num_likes, num_downloads, num_views, relevance or repo_handle.",
        sort_direction: "asc or desc; desc where it is left out.",
        ...page,
      },
    }),
    handler: (request) => listPrompts(store, request),
  });
  app.route<{ Body: PromptBody }>({
    ...route(endpoints.createPrompt, {
      tag,
      summary: "Makes a prompt; 409 where the handle is taken.",
      body: promptBody,
    }),
    handler: (request) => createPrompt(store, request),
  });
  app.route({
    ...route(endpoints.deletePrompts, {
      tag,
      summary: "Deletes prompts of one's own; 207 where some are not there.",
      query: { repo_ids: "Ids, at most 100; may be repeated." },
    }),
    handler: (request, reply) => deletePrompts(store, request, reply),
  });
  app.route({
    ...route(endpoints.readPrompt, { tag, summary: "One prompt." }),
    handler: (request) => readPrompt(store, request),
  });
  app.route<{ Body: PromptPatchBody }>({
    ...route(endpoints.updatePrompt, {
      tag,
      summary: "Changes what is given; null changes nothing.",
      body: promptPatchBody,
    }),
    handler: (request) => updatePrompt(store, request),
  });
  app.route({
    ...route(endpoints.deletePrompt, { tag, summary: "Deletes a prompt and its commits." }),
    handler: (request) => deletePrompt(store, request),
  });
  app.route<{ Body: Static<typeof likeBody> }>({
    ...route(endpoints.likePrompt, {
      tag,
      summary: "Likes a prompt, or takes the like back. One like a tenant.",
      body: likeBody,
    }),
    handler: (request) => likePrompt(store, request),
  });
}

function addCommitRoutes(app: FastifyInstance, store: PromptStore): void {
  app.route({
    ...route(endpoints.listCommits, {
      tag,
      summary: "Commits of a prompt, the latest first, without their manifests.",
      query: { tag: "Only the commit that has it.", ...page },
    }),
    handler: (request) => listCommits(store, request),
  });
  app.route<{ Body: Static<typeof commitBody> }>({
    ...route(endpoints.createCommit, {
      tag,
      summary: "Commits a manifest; 409 where parent_commit is not the latest, or nothing changed.",
      body: commitBody,
    }),
    handler: (request, reply) => createCommit(store, request, reply),
  });
  app.route({
    ...route(endpoints.readCommit, {
      tag,
      summary: "One commit: by its hash, the first of its digits, a tag, or latest.",
      query: {
        include_model: "Changes nothing: a manifest is given as it was committed.",
        is_view: "true: counted as a view, not as a download.",
      },
    }),
    handler: (request, reply) => readCommit(store, request, reply),
  });
}

function addTagRoutes(app: FastifyInstance, store: PromptStore): void {
  app.route({
    ...route(endpoints.listPromptTags, { tag, summary: "Tags of a prompt's commits, by name." }),
    handler: (request) => listTags(store, request),
  });
  app.route<{ Body: Static<typeof tagBody> }>({
    ...route(endpoints.createPromptTag, {
      tag,
      summary: "Gives a commit a tag; one of that name is moved.",
      body: tagBody,
    }),
    handler: (request) => createTag(store, request),
  });
  app.route({
    ...route(endpoints.readPromptTag, { tag, summary: "One tag." }),
    handler: (request) => readTag(store, request),
  });
  app.route<{ Body: Static<typeof tagPatchBody> }>({
    ...route(endpoints.updatePromptTag, {
      tag,
      summary: "Moves a tag to another commit.",
      body: tagPatchBody,
    }),
    handler: (request) => updateTag(store, request),
  });
  app.route({
    ...route(endpoints.deletePromptTag, { tag, summary: "Removes a tag; its commit stays." }),
    handler: (request) => deleteTag(store, request),
  });
}

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
import {
  commitPageSchema,
  createdCommitSchema,
  deletedPromptsSchema,
  deletedTagSchema,
  likesSchema,
  onePromptSchema,
  promptPageSchema,
  promptTagSchema,
  promptTagsSchema,
  pulledCommitSchema,
} from "./prompt-schemas.ts";
import { Deleted } from "../http/schema-parts.ts";

const apiTag = "prompts";
const pagingParameters = {
  limit: "Maximum number of items, 1 to 100; default 20.",
  offset: "Number of items to skip.",
};

/** Adds the routes of the prompt hub. The owner `-` in a path stands for the calling tenant. */
export function addPromptRoutes(app: FastifyInstance, store: PromptStore): void {
  addRepoRoutes(app, store);
  addCommitRoutes(app, store);
  addTagRoutes(app, store);
}

function addRepoRoutes(app: FastifyInstance, store: PromptStore): void {
  app.route({
    ...route(endpoints.listPrompts, {
      tag: apiTag,
      summary: "Lists the tenant's own prompts and the public prompts of other tenants.",
      query: {
        query: "Part of the handle or the description, case-insensitive.",
        tenant_handle: "Handle of the owner, or - for the calling tenant.",
        tenant_id: "Id of the owner.",
        is_public: "true or false; default both.",
        is_archived: "true, false (the default), or allow for both.",
        has_commits: "true or false.",
        tags: "A tag that the prompt must have; may be repeated.",
        repo_type: "prompt (the default), file, agent or skill.",
        repo_types: "As repo_type; may be repeated.",
        source: "internal or external.",
        sort_field: "updated_at, num_likes, num_downloads, num_views, relevance or repo_handle.",
        sort_direction: "asc or desc (the default).",
        ...pagingParameters,
      },
      response: promptPageSchema,
    }),
    handler: (request) => listPrompts(store.forRequest(request), request),
  });
  app.route<{ Body: PromptBody }>({
    ...route(endpoints.createPrompt, {
      tag: apiTag,
      summary: "Creates a prompt; 409 if the handle is taken.",
      body: promptBody,
      response: onePromptSchema,
    }),
    handler: (request) => createPrompt(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.deletePrompts, {
      tag: apiTag,
      summary: "Deletes prompts of the tenant; 207 if some do not exist.",
      query: { repo_ids: "Prompt id; may be repeated, up to 100 times." },
      response: deletedPromptsSchema,
      otherResponses: { 207: deletedPromptsSchema },
    }),
    handler: (request, reply) => deletePrompts(store.forRequest(request), request, reply),
  });
  app.route({
    ...route(endpoints.readPrompt, {
      tag: apiTag,
      summary: "Reads a prompt.",
      response: onePromptSchema,
    }),
    handler: (request) => readPrompt(store.forRequest(request), request),
  });
  app.route<{ Body: PromptPatchBody }>({
    ...route(endpoints.updatePrompt, {
      tag: apiTag,
      summary: "Updates the given fields; null leaves a field unchanged.",
      body: promptPatchBody,
      response: onePromptSchema,
    }),
    handler: (request) => updatePrompt(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.deletePrompt, {
      tag: apiTag,
      summary: "Deletes a prompt and its commits.",
      response: Deleted,
    }),
    handler: (request) => deletePrompt(store.forRequest(request), request),
  });
  app.route<{ Body: Static<typeof likeBody> }>({
    ...route(endpoints.likePrompt, {
      tag: apiTag,
      summary: "Likes a prompt, or removes the like; each tenant has one like.",
      body: likeBody,
      response: likesSchema,
    }),
    handler: (request) => likePrompt(store.forRequest(request), request),
  });
}

function addCommitRoutes(app: FastifyInstance, store: PromptStore): void {
  app.route({
    ...route(endpoints.listCommits, {
      tag: apiTag,
      summary: "Lists the commits of a prompt, latest first, without their manifests.",
      query: { tag: "Only the commit with this tag.", ...pagingParameters },
      response: commitPageSchema,
    }),
    handler: (request) => listCommits(store.forRequest(request), request),
  });
  app.route<{ Body: Static<typeof commitBody> }>({
    ...route(endpoints.createCommit, {
      tag: apiTag,
      summary:
        "Commits a manifest; 409 if parent_commit is not the latest commit, or nothing changed.",
      body: commitBody,
      otherResponses: { 201: createdCommitSchema },
    }),
    handler: (request, reply) => createCommit(store.forRequest(request), request, reply),
  });
  app.route({
    ...route(endpoints.readCommit, {
      tag: apiTag,
      summary: "Reads a commit by its hash, a unique prefix of the hash, a tag, or latest.",
      query: {
        include_model: "true to include the model with which the prompt was saved.",
        is_view: "true to count as a view, not as a download.",
      },
      response: pulledCommitSchema,
    }),
    handler: (request, reply) => readCommit(store.forRequest(request), request, reply),
  });
}

function addTagRoutes(app: FastifyInstance, store: PromptStore): void {
  app.route({
    ...route(endpoints.listPromptTags, {
      tag: apiTag,
      summary: "Lists the tags of a prompt's commits, by name.",
      response: promptTagsSchema,
    }),
    handler: (request) => listTags(store.forRequest(request), request),
  });
  app.route<{ Body: Static<typeof tagBody> }>({
    ...route(endpoints.createPromptTag, {
      tag: apiTag,
      summary: "Tags a commit; moves the tag if it exists.",
      body: tagBody,
      response: promptTagSchema,
    }),
    handler: (request) => createTag(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.readPromptTag, {
      tag: apiTag,
      summary: "Reads a tag.",
      response: promptTagSchema,
    }),
    handler: (request) => readTag(store.forRequest(request), request),
  });
  app.route<{ Body: Static<typeof tagPatchBody> }>({
    ...route(endpoints.updatePromptTag, {
      tag: apiTag,
      summary: "Moves a tag to another commit.",
      body: tagPatchBody,
      response: promptTagSchema,
    }),
    handler: (request) => updateTag(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.deletePromptTag, {
      tag: apiTag,
      summary: "Removes a tag; its commit stays.",
      response: deletedTagSchema,
    }),
    handler: (request) => deleteTag(store.forRequest(request), request),
  });
}

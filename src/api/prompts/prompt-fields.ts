import { NotFoundError, ValidationError } from "../../model/errors.ts";
import { omitUndefined } from "../../model/fields.ts";
import { findOptionProblem } from "../../model/options/options.ts";
import type { PromptPath } from "../../model/resources/prompt-identifier.ts";
import type { KeyValues } from "../../model/run.ts";
import type { ListPrompts, PromptFields, PromptSortField, UpdatePrompt } from "./prompt-options.ts";
import type { QueryValue } from "../http/request.ts";

/** Converts a filter to query parameters. */
export const toListQuery = (filter: ListPrompts): Readonly<Record<string, QueryValue>> => {
  const { isArchived = false, sortField = "updatedAt", sortDirection = "desc" } = filter;
  return {
    sort_field: sortFields[sortField],
    sort_direction: sortDirection,
    is_archived: isArchived === "any" ? "allow" : isArchived,
    is_public: filter.isPublic,
    query: filter.query,
    tags: filter.tags,
    tenant_handle: filter.owner,
  };
};

/** Returns the wire form of the fields that are not `undefined`. */
export const toWireFields = (fields: UpdatePrompt) =>
  omitUndefined({
    description: fields.description,
    readme: fields.readme,
    tags: fields.tags,
    is_public: fields.isPublic,
    is_archived: fields.isArchived,
  });

/** Picks the prompt's fields from an object that may have others. */
export const pickPromptFields = ({
  description,
  readme,
  tags,
  isPublic,
}: PromptFields): PromptFields => omitUndefined({ description, readme, tags, isPublic });

/** The message of LangSmith's client for a prompt that does not exist; programs may compare messages with it. */
export const promptMustExistMessage = "Prompt does not exist, you must create it first.";

/** Creates the message of the error for a prompt that does not exist. */
export const createNotFoundText = ({ owner, repo }: PromptPath): string =>
  `Prompt[${owner}/${repo}] not found. Create it with client.prompts.create, or check the owner, the endpoint and the tenant of the key`;

/**
 * Returns the response of a request. If the prompt does not exist, throws a {@link NotFoundError} with the given
 * `message`.
 */
export async function requestOrNotFound<Response>(
  message: string,
  request: () => Promise<Response>,
): Promise<Response> {
  try {
    return await request();
  } catch (cause) {
    if (!(cause instanceof NotFoundError)) {
      throw cause;
    }
    const { detail, requestId } = cause;
    const init = { action: "read prompt", status: 404, body: detail, message };
    throw new NotFoundError({ ...init, cause, requestId });
  }
}

const clientOptionNames = { ttlMs: "promptTtlMs", waitMs: "promptWaitMs" } as const;

/** @throws {@link ValidationError} if a duration is given that is not allowed for the client's corresponding option. */
export function assertMilliseconds(name: "ttlMs" | "waitMs", value: number | undefined): void {
  const problem =
    value === undefined ? undefined : findOptionProblem(clientOptionNames[name], value);
  if (problem !== undefined) {
    throw new ValidationError(`client.prompts.get: ${name} must be ${problem}`);
  }
}

/**
 * Copies a manifest as plain JSON at the time of the call. Class instances are serialized by their `toJSON`.
 *
 * @throws {@link ValidationError} if it can't be serialized, or does not serialize to an object.
 */
export function copyManifest(manifest: unknown): KeyValues {
  const json = toJson(manifest);
  if (json?.startsWith("{") !== true) {
    throw new ValidationError("A manifest must be an object, or serialize to a JSON object");
  }
  return JSON.parse(json) as KeyValues;
}

function toJson(manifest: unknown): string | undefined {
  try {
    // `JSON.stringify` returns `undefined` for a function or a symbol, although its declared type says otherwise.
    return JSON.stringify(manifest);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ValidationError(`A manifest must be serializable as JSON: ${reason}`, { cause });
  }
}

/** Wire names of the sort fields. */
export const sortFields: { readonly [Name in PromptSortField]: string } = {
  updatedAt: "updated_at",
  likes: "num_likes",
  downloads: "num_downloads",
  views: "num_views",
};

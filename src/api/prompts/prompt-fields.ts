import { NotFoundError, ValidationError } from "../../model/errors.ts";
import { definedOf } from "../../model/fields.ts";
import type { PromptPath } from "../../model/resources/prompt-identifier.ts";
import type { KeyValues } from "../../model/run.ts";
import type { ListPrompts, PromptFields, PromptSortField, UpdatePrompt } from "./prompt-options.ts";
import type { QueryValue } from "../http/request.ts";

/** The query of a list. */
export const listQuery = (filter: ListPrompts): Readonly<Record<string, QueryValue>> => {
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

/** What of a prompt is given, as the wire has it. */
export const wireFields = (fields: UpdatePrompt) =>
  definedOf({
    description: fields.description,
    readme: fields.readme,
    tags: fields.tags,
    is_public: fields.isPublic,
    is_archived: fields.isArchived,
  });

/** The fields alone, of what may hold more. */
export const fieldsOf = ({ description, readme, tags, isPublic }: PromptFields): PromptFields =>
  definedOf({ description, readme, tags, isPublic });

/** The words are the specification's (section 5). */
export const mustExistText = "Prompt does not exist, you must create it first.";

export const notFoundText = ({ owner, repo }: PromptPath): string =>
  `Prompt[${owner}/${repo}] not found. Create it with client.prompts.create, or check the owner, the endpoint and the tenant of the key`;

/** The response. Throws an error with these words where the prompt does not exist. */
export async function orNotFound<Answer>(
  message: string,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask();
  } catch (cause) {
    if (!(cause instanceof NotFoundError)) {
      throw cause;
    }
    const { detail, requestId } = cause;
    const init = { action: "read prompt", status: 404, body: detail, message };
    throw new NotFoundError({ ...init, cause, requestId });
  }
}

/**
 * A manifest as it is at the time of the call, as plain JSON: class instances give theirs by `toJSON`.
 *
 * @throws {@link ValidationError} it is not JSON, or JSON of something that is no object.
 */
export function manifestOf(manifest: unknown): KeyValues {
  const json = toJson(manifest);
  if (json?.startsWith("{") !== true) {
    throw new ValidationError("A manifest must be an object, or become one as JSON");
  }
  return JSON.parse(json) as KeyValues;
}

function toJson(manifest: unknown): string | undefined {
  try {
    // Absent for a function and the like, whatever its declared type.
    return JSON.stringify(manifest);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ValidationError(`A manifest must be JSON: ${reason}`, { cause });
  }
}

/** What the wire calls what prompts are sorted by. */
const sortFields: { readonly [Name in PromptSortField]: string } = {
  updatedAt: "updated_at",
  likes: "num_likes",
  downloads: "num_downloads",
  views: "num_views",
};

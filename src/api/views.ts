import { extractDetail } from "../model/error-detail.ts";
import { ValidationError } from "../model/errors.ts";
import { Fields, omitUndefined, parseList } from "../model/fields.ts";
import { assertUuid } from "../model/ids.ts";
import { assertChange } from "./http/assert-change.ts";
import type { Call, CallOptions } from "./http/http.ts";
import { notNull } from "./http/argument-checks.ts";
import { callOptionKeys } from "./http/known-arguments.ts";
import type { HttpErrorResponse } from "./http/request.ts";
import type { CallTable } from "./http/known-arguments.ts";
import { identifyById, listByOffset } from "./http/pages.ts";
import type { Pages } from "./http/pages.ts";
import { resolveProjectId, projectKeyNames } from "./projects.ts";
import type { ProjectKey, Projects } from "./projects.ts";

/** The fields of a view. Conditions are in the filter language (docs/filter-language.md), as in {@link RunFilter}. */
export interface ViewFields {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Condition that the run itself must match. */
  readonly filter?: string | undefined;
  /** Condition that the root run of the trace must match. */
  readonly traceFilter?: string | undefined;
  /** Condition that at least one run of the trace must match. */
  readonly treeFilter?: string | undefined;
}

/** A saved filter of a project's runs, such as "slow and failed". */
export interface View extends ViewFields {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  /** A time in ISO 8601 format. */
  readonly createdAt: string;
  /** A time in ISO 8601 format. */
  readonly modifiedAt: string;
}

/** Identifies a view by its project and its id. */
export type ViewKey = ProjectKey & { readonly viewId: string };

/** Arguments of {@link Views.create}. */
export type CreateView = ProjectKey & CallOptions & ViewFields & { readonly name: string };

/** Arguments of {@link Views.update}. A field that is left out keeps its value; an empty string clears the field. */
export type UpdateView = ViewKey & CallOptions & ViewFields;

/** Views: filters of a project's runs that are saved under a name. */
export class Views {
  readonly #call: Call;
  readonly #projects: Projects;

  /** @internal */
  constructor(call: Call, projects: Projects) {
    this.#call = call;
    this.#projects = projects;
  }

  /**
   * Creates a view. Repeating the call creates another one.
   *
   * @throws {@link ValidationError} if not exactly one of the project's id and name is given, or the name is empty.
   * @throws {@link NotFoundError} if there is no such project.
   * @throws {@link HttpError} with status 422 if a filter is malformed; the message says where.
   */
  async create(view: CreateView): Promise<View> {
    assertName(view.name);
    const path = { id: await resolveProjectId(this.#projects, view) };
    const createErrorMessage = createFilterErrorMessage("create view");
    const init = { path, json: toWire(view), signal: view.signal, createErrorMessage };
    return parseView(await this.#call("createView", init));
  }

  /**
   * Reads a view.
   *
   * @throws {@link ValidationError} if an id is not a UUID.
   * @throws {@link NotFoundError} if there is no such project or view.
   */
  async read(key: ViewKey & CallOptions): Promise<View> {
    const init = { path: await this.#resolvePath(key), signal: key.signal };
    return parseView(await this.#call("readView", init));
  }

  /**
   * Lists the views of a project, sorted by name. Pages are fetched as they are consumed.
   *
   * @throws {@link NotFoundError} if there is no such project.
   */
  list(key: ProjectKey & CallOptions & { readonly limit?: number | undefined }): Pages<View> {
    let id: string | undefined;
    return listByOffset(
      key.limit,
      async (page) => {
        id ??= await resolveProjectId(this.#projects, key);
        const init = { path: { id }, query: { ...page }, signal: key.signal };
        return parseList(await this.#call("listViews", init), "views", parseView);
      },
      identifyById,
    );
  }

  /**
   * Changes the fields that are given. Repeating the call has no further effect.
   *
   * @throws {@link ValidationError} if no field is given, the name is empty, or an id is not a UUID.
   * @throws {@link NotFoundError} if there is no such project or view.
   * @throws {@link HttpError} with status 422 if a filter is malformed.
   */
  async update(changes: UpdateView): Promise<View> {
    const json = toWire(changes);
    assertChange(json, ["name", "description", "filter", "traceFilter", "treeFilter"]);
    if (changes.name !== undefined) {
      assertName(changes.name);
    }
    const createErrorMessage = createFilterErrorMessage("update view");
    const path = await this.#resolvePath(changes);
    const init = { path, json, signal: changes.signal, createErrorMessage };
    return parseView(await this.#call("updateView", init));
  }

  /**
   * Deletes a view.
   *
   * @throws {@link ValidationError} if an id is not a UUID.
   * @throws {@link NotFoundError} if there is no such project or view.
   */
  async delete(key: ViewKey & CallOptions): Promise<void> {
    await this.#call("deleteView", { path: await this.#resolvePath(key), signal: key.signal });
  }

  async #resolvePath(key: ViewKey & CallOptions) {
    assertUuid(key.viewId, "view id");
    return { id: await resolveProjectId(this.#projects, key), viewId: key.viewId };
  }
}

const viewFieldKeys = {
  name: true,
  description: notNull('""'),
  filter: notNull('""'),
  traceFilter: notNull('""'),
  treeFilter: notNull('""'),
} as const;
const viewKeyNames = { ...callOptionKeys, ...projectKeyNames, viewId: true } as const;

/** The option names that each method accepts. */
export const viewCalls: CallTable<Views> = {
  create: { args: [{ ...callOptionKeys, ...projectKeyNames, ...viewFieldKeys }] },
  read: { args: [viewKeyNames] },
  list: { args: [{ ...callOptionKeys, ...projectKeyNames, limit: true }], throws: true },
  update: { args: [{ ...viewKeyNames, ...viewFieldKeys }] },
  delete: { args: [viewKeyNames] },
};

const toWire = ({
  name,
  description,
  filter,
  traceFilter,
  treeFilter,
}: ViewFields): Readonly<Record<string, unknown>> =>
  omitUndefined({
    display_name: name,
    description,
    filter_string: filter,
    trace_filter_string: traceFilter,
    tree_filter_string: treeFilter,
  });

/**
 * Returns a function that creates the error message for an invalid filter. The server's message names the field of the
 * request, such as `filter_string`; the created message names the option that sets this field.
 */
const createFilterErrorMessage =
  (action: string) =>
  ({ status, body }: HttpErrorResponse): string | undefined => {
    const detail = extractDetail(body);
    const [, field = "", reason = ""] = /^(\w+): (.*)/s.exec(detail) ?? [];
    const option = filterOptions.get(field);
    return option === undefined ? undefined : `Failed to ${action}: ${status} ${option}: ${reason}`;
  };

/** For each field of a request that contains a filter: the option that sets it. */
const filterOptions: ReadonlyMap<string, keyof ViewFields> = new Map([
  ["filter_string", "filter"],
  ["trace_filter_string", "traceFilter"],
  ["tree_filter_string", "treeFilter"],
]);

/** @throws {@link ResponseError} if `value` is not a view. */
function parseView(value: unknown): View {
  const fields = new Fields(value, "view");
  return omitUndefined({
    id: fields.readText("id"),
    projectId: fields.readText("session_id"),
    name: fields.readText("display_name"),
    description: fields.readOptionalText("description"),
    filter: fields.readOptionalText("filter_string"),
    traceFilter: fields.readOptionalText("trace_filter_string"),
    treeFilter: fields.readOptionalText("tree_filter_string"),
    createdAt: fields.readText("created_at"),
    modifiedAt: fields.readText("updated_at"),
  });
}

function assertName(name: unknown): void {
  if (typeof name !== "string" || name === "") {
    throw new ValidationError("The name of a view must be a non-empty string");
  }
}

import { parseRunAttachments } from "../../model/resources/attachment-response.ts";
import type { Attachment } from "../../model/resources/attachment-response.ts";
import { NotFoundError, ValidationError } from "../../model/errors.ts";
import { omitUndefined, Fields, parseList } from "../../model/fields.ts";
import { assertUuid } from "../../model/ids.ts";
import { extractShareToken, createRunUrl, createSharedRunUrl } from "../../model/links.ts";
import { parseRun, runFields } from "../../model/resources/run-response.ts";
import type { Run, RunField, SelectedRun } from "../../model/resources/run-response.ts";
import type { WirePost } from "../../model/run.ts";
import { parseRunShare } from "../../model/resources/run-share.ts";
import type { RunShare } from "../../model/resources/run-share.ts";
import type { UploadResult, UploadSource } from "../../model/resources/upload.ts";
import { parseRunStats } from "../../model/resources/run-stats.ts";
import type { RunStats } from "../../model/resources/run-stats.ts";
import { unknownKeysOf, unknownKeyText } from "../../model/unknown-keys.ts";
import { readAttachmentBytes, attachmentKeys } from "../http/attachment-bytes.ts";
import type { ApiTransport, Call, CallOptions } from "../http/http.ts";
import { listByCursor } from "../http/pages.ts";
import type { Pages } from "../http/pages.ts";
import type { Projects } from "../projects.ts";
import { toWireFilter } from "./run-filter.ts";
import type { RunFilter } from "./run-filter.ts";
import type { Uploader, UploadRuns } from "../uploads.ts";
import { oneOf, texts } from "../http/argument-checks.ts";
import { callOptionKeys } from "../http/known-arguments.ts";
import type { CallTable } from "../http/known-arguments.ts";
import { uploadSettingKeys } from "../uploads.ts";

/** Arguments of {@link Runs.read}. */
export interface ReadRun extends CallOptions {
  /** Whether to read the descendants too, nested as `childRuns`. @defaultValue false */
  readonly withChildRuns?: boolean | undefined;
}

/** Filters of runs, which can also name projects. */
export interface FilterRuns extends RunFilter, CallOptions {
  /** Names of projects, in addition to `projectIds`. Each name is looked up with a request. */
  readonly projectNames?: readonly string[] | undefined;
}

/** Arguments of `Runs.list`. */
export interface ListRuns extends FilterRuns {
  /** Fields to return for each run. @defaultValue the fields that the server chooses */
  readonly select?: readonly RunField[] | undefined;
  /** Order by start time. @defaultValue "desc" */
  readonly order?: "asc" | "desc" | undefined;
  /** Maximum number of runs, at least 1. @defaultValue no limit */
  readonly limit?: number | undefined;
}

/** What {@link Runs} needs in addition to the transport. */
interface RunsOptions {
  /** Base URL of the UI. */
  readonly host: string;
  readonly endpoint: string;
  readonly projects: Projects;
  readonly uploader: Uploader;
}

/** Reads, uploads and shares recorded runs. */
export class Runs {
  readonly #transport: ApiTransport;
  readonly #call: Call;
  readonly #host: string;
  readonly #endpoint: string;
  readonly #projects: Projects;
  readonly #uploader: Uploader;

  /** @internal */
  constructor(transport: ApiTransport, { host, endpoint, projects, uploader }: RunsOptions) {
    this.#transport = transport;
    this.#call = transport.call;
    this.#host = host;
    this.#endpoint = endpoint;
    this.#projects = projects;
    this.#uploader = uploader;
  }

  /**
   * Uploads existing runs with their own ids, times and dotted orders. Rows are read, retried and reported as
   * by {@link Examples.upload}. A run that the server already has is not changed.
   */
  async upload<Row = WirePost>(
    source: UploadSource<Row>,
    request: UploadRuns<Row> = {},
  ): Promise<UploadResult> {
    return this.#uploader.uploadRuns(source, request);
  }

  /**
   * Reads a run.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such run. A run that was just recorded might not have arrived at the
   * server yet.
   */
  async read(id: string, { withChildRuns = false, signal }: ReadRun = {}): Promise<Run> {
    assertUuid(id, "run id");
    const run = parseRun(await this.#call("readRun", { path: { id }, signal }));
    if (!withChildRuns || run.traceId === undefined) {
      return run;
    }
    const trace = await this.list({ traceId: run.traceId, order: "asc", signal }).toArray();
    return nestRuns(run, trace);
  }

  /**
   * Returns the URLs of a run's attachments, by name; an empty object if the run has none.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such run. A run that was just recorded might not have arrived at the
   * server yet.
   */
  async readAttachments(
    id: string,
    { signal }: CallOptions = {},
  ): Promise<Readonly<Record<string, Attachment>>> {
    assertUuid(id, "run id");
    return parseRunAttachments(await this.#call("readRun", { path: { id }, signal }));
  }

  /**
   * Downloads an attachment that {@link Runs.readAttachments} returned. The API key is sent only to the
   * client's own server. The URL expires; call `readAttachments` again for a new one.
   *
   * @throws {@link ValidationError} if the URL is malformed.
   * @throws {@link HttpError} if the URL has expired, or there is no file.
   */
  async readAttachment(attachment: Attachment, { signal }: CallOptions = {}): Promise<Uint8Array> {
    return readAttachmentBytes(this.#transport, attachment, { endpoint: this.#endpoint, signal });
  }

  /**
   * Lists runs, newest first by default. Pages are fetched as they are consumed. With `select`, a run has only its id
   * and the selected fields.
   *
   * @throws {@link ValidationError} if an id is not a UUID, a time is malformed, or `limit` is not a whole
   * number of at least 1.
   */
  list<Field extends RunField>(
    filter: ListRuns & { readonly select: readonly Field[] },
  ): Pages<SelectedRun<Field>>;
  /** Lists runs with the fields that the server chooses. Otherwise as with `select`. */
  list(filter?: ListRuns): Pages<Run>;
  list(filter: ListRuns = {}): Pages<Run> {
    const { projectNames, select, order, limit, signal } = filter;
    const wireFilter = omitUndefined({
      ...toWireFilter(filter),
      select: select && toWireSelect(select),
      order,
    });
    let resolvedProjectIds: readonly string[] | undefined;
    return listByCursor(limit, async (page) => {
      if (page.cursor === undefined) {
        resolvedProjectIds = await this.#resolveProjectIds(filter.projectIds, projectNames, signal);
      }
      const json = {
        ...wireFilter,
        ...(resolvedProjectIds && { session: resolvedProjectIds }),
        ...page,
      };
      const response = await this.#call("queryRuns", { json, signal });
      const fields = new Fields(response, "page of runs");
      const next = new Fields(fields.readObject("cursors"), "cursor").readOptionalText("next");
      return { items: parseList(fields.readValue("runs"), "runs", parseRun), next };
    });
  }

  /**
   * Returns statistics of the runs that match a filter.
   *
   * @throws {@link ValidationError} as for `Runs.list`.
   */
  async stats(filter: FilterRuns = {}): Promise<RunStats> {
    const { projectIds, projectNames, signal } = filter;
    const wireFilter = toWireFilter(filter);
    const session = await this.#resolveProjectIds(projectIds, projectNames, signal);
    const json = { ...wireFilter, ...(session && { session }) };
    return parseRunStats(await this.#call("runStats", { json, signal }));
  }

  /**
   * Shares a run with anyone who has the link. Calling it again returns the same link.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such run.
   */
  async share(id: string, { signal }: CallOptions = {}): Promise<RunShare> {
    assertUuid(id, "run id");
    const response = await this.#call("shareRun", { path: { id }, signal });
    return parseRunShare(response, (token) => createSharedRunUrl(this.#host, token));
  }

  /**
   * Revokes the link of a shared run; sharing it again creates another link. Repeating the call has no further
   * effect.
   */
  async unshare(id: string, { signal }: CallOptions = {}): Promise<void> {
    assertUuid(id, "run id");
    await this.#call("unshareRun", { path: { id }, signal });
  }

  /**
   * Reads a shared run by its link or by the token in the link. Needs no API key.
   *
   * @throws {@link ValidationError} if the URL or token is malformed: `Invalid public run URL or token`.
   * @throws {@link NotFoundError} if no run is shared under this token, or the run is no longer shared.
   */
  async readShared(urlOrToken: string, { signal }: CallOptions = {}): Promise<Run> {
    const token = extractShareToken(urlOrToken, { resource: "run" });
    return parseRun(await this.#call("readSharedRun", { path: { token }, signal }));
  }

  /** Returns the URL of the run in the UI. Reads the run first, and throws as {@link Runs.read} does. */
  async url(id: string, { signal }: CallOptions = {}): Promise<string> {
    const run = await this.read(id, { signal });
    if (run.projectId === undefined) {
      throw new NotFoundError({
        action: "read run",
        status: 404,
        body: "",
        message: `Failed to build the URL of run ${id}: the server returned no project for it. Check the versions of client and server with "npx millrace doctor"`,
      });
    }
    const { tenantId } = await this.#projects.read({ projectId: run.projectId, signal });
    const { projectId, traceId = id } = run;
    return createRunUrl(this.#host, { tenantId, projectId, traceId, runId: id });
  }

  /** Resolves names of projects to ids, and adds them to `ids`. Returns `undefined` for runs of all projects. */
  async #resolveProjectIds(
    ids: readonly string[] | undefined,
    names: readonly string[] | undefined,
    signal: AbortSignal | undefined,
  ): Promise<readonly string[] | undefined> {
    if (names === undefined) {
      return ids;
    }
    const projects = await Promise.all(
      names.map((name) => this.#projects.read({ projectName: name, signal })),
    );
    return [...(ids ?? []), ...projects.map(({ id }) => id)];
  }
}

/** @throws {@link ValidationError} if a name is not a field of a run. */
function toWireSelect(select: readonly RunField[]): readonly string[] {
  const selected = Object.fromEntries(select.map((name) => [name, true]));
  const [unknownField] = unknownKeysOf(selected, Object.keys(runFields));
  if (unknownField !== undefined) {
    throw new ValidationError(`runs.list: select has an ${unknownKeyText("field", unknownField)}`);
  }
  return select.map((name) => runFields[name]);
}

/** Returns a run with its descendants from `trace`, each in its parent's `childRuns`, ordered by start. */
export function nestRuns(run: Run, trace: readonly Run[]): Run {
  const children = new Map<string, Run[]>();
  const sortedTrace = trace.toSorted((left, right) =>
    (left.dottedOrder ?? "") < (right.dottedOrder ?? "") ? -1 : 1,
  );
  for (const child of sortedTrace) {
    const parent = child.parentRunId ?? "";
    children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  return attachChildren(run, children);
}

/**
 * Adds the child runs to a run and to its descendants. The entry of a run is removed from `children` when the run is
 * visited, so that the recursion ends even if runs of a damaged trace are each other's ancestors.
 */
function attachChildren(run: Run, children: Map<string, Run[]>): Run {
  const ownChildren = children.get(run.id) ?? [];
  children.delete(run.id);
  return { ...run, childRuns: ownChildren.map((child) => attachChildren(child, children)) };
}

const runFilterKeys = {
  ...callOptionKeys,
  projectIds: true,
  projectNames: texts,
  ids: true,
  traceId: true,
  parentRunId: true,
  runType: true,
  referenceExampleIds: true,
  isRoot: true,
  error: true,
  startTime: true,
  endTime: true,
  query: true,
  filter: true,
  traceFilter: true,
  treeFilter: true,
} as const;

/** The option names that each method accepts. */
export const runCalls: CallTable<Runs> = {
  upload: { args: [null, { ...uploadSettingKeys, toRun: true, projectName: true }] },
  read: { args: [null, { ...callOptionKeys, withChildRuns: true }] },
  readAttachments: { args: [null, callOptionKeys] },
  readAttachment: { args: [attachmentKeys, callOptionKeys] },
  list: {
    args: [{ ...runFilterKeys, select: texts, order: oneOf("asc", "desc"), limit: true }],
    throws: true,
  },
  stats: { args: [runFilterKeys] },
  share: { args: [null, callOptionKeys] },
  unshare: { args: [null, callOptionKeys] },
  readShared: { args: [null, callOptionKeys] },
  url: { args: [null, callOptionKeys] },
};

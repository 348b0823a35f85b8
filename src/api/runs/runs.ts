import { parseRunAttachments } from "../../model/resources/attachment-response.ts";
import type { Attachment } from "../../model/resources/attachment-response.ts";
import { NotFoundError, ValidationError } from "../../model/errors.ts";
import { definedOf, Fields, parseList } from "../../model/fields.ts";
import { assertUuid } from "../../model/ids.ts";
import { publicToken, runUrl, sharedRunUrl } from "../../model/links.ts";
import { parseRun, runFields } from "../../model/resources/run-response.ts";
import type { Run, RunField } from "../../model/resources/run-response.ts";
import type { WirePost } from "../../model/run.ts";
import { parseRunShare } from "../../model/resources/run-share.ts";
import type { RunShare } from "../../model/resources/run-share.ts";
import type { UploadResult, UploadSource } from "../../model/resources/upload.ts";
import { parseRunStats } from "../../model/resources/run-stats.ts";
import type { RunStats } from "../../model/resources/run-stats.ts";
import { unknownKeysOf, unknownKeyText } from "../../model/unknown-keys.ts";
import { readAttachmentBytes } from "../http/attachment-bytes.ts";
import type { ApiTransport, Call, CallOptions } from "../http/http.ts";
import { pagesByCursor } from "../http/pages.ts";
import type { Pages } from "../http/pages.ts";
import type { Projects } from "../projects.ts";
import { toWireFilter } from "./run-filter.ts";
import type { RunFilter } from "./run-filter.ts";
import type { Uploader, UploadRuns } from "../uploads.ts";

/** What {@link Runs.read} takes. */
export interface ReadRun extends CallOptions {
  /** Whether to read the runs below it too, nested as `childRuns`. @defaultValue false */
  readonly withChildRuns?: boolean | undefined;
}

/** Which runs are meant, their projects by name too. */
export interface FilterRuns extends RunFilter, CallOptions {
  /** Names of projects, beside `projectIds`; each is looked up. */
  readonly projectNames?: readonly string[] | undefined;
}

/** What {@link Runs.list} takes: a filter, and how to answer. */
export interface ListRuns extends FilterRuns {
  /** Members that each run has. @defaultValue what the server gives */
  readonly select?: readonly RunField[] | undefined;
  /** By start. @defaultValue "desc" */
  readonly order?: "asc" | "desc" | undefined;
  /** Runs at most, from 1. @defaultValue all of them */
  readonly limit?: number | undefined;
}

interface RunsOptions {
  /** Where the pages of runs are. */
  readonly host: string;
  readonly endpoint: string;
  readonly projects: Projects;
  readonly uploader: Uploader;
}

/** Runs, read back. */
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
   * Brings runs from elsewhere, with the ids, times and dotted orders that they have; as
   * {@link Examples.upload}. A run that is there already stays as it is.
   */
  async upload<Row = WirePost>(
    source: UploadSource<Row>,
    request: UploadRuns<Row> = {},
  ): Promise<UploadResult> {
    return this.#uploader.runs(source, request);
  }

  /**
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} there is no such run; one that was just recorded may be on its way.
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
   * Where the attachments of a run are, by name; empty where it has none.
   *
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} there is no such run; one that was just recorded may be on its way.
   */
  async readAttachments(
    id: string,
    { signal }: CallOptions = {},
  ): Promise<Readonly<Record<string, Attachment>>> {
    assertUuid(id, "run id");
    return parseRunAttachments(await this.#call("readRun", { path: { id }, signal }));
  }

  /**
   * The bytes of an attachment, from the address that {@link Runs.readAttachments} returned. The key is sent
   * to the client's own server only. The address expires; reading again gives a new one.
   *
   * @throws {@link ValidationError} its address is malformed.
   * @throws {@link HttpError} the address has expired, or leads nowhere.
   */
  async readAttachment(attachment: Attachment, { signal }: CallOptions = {}): Promise<Uint8Array> {
    return readAttachmentBytes(this.#transport, attachment, { endpoint: this.#endpoint, signal });
  }

  /**
   * Runs by page, as they are consumed, the latest first.
   *
   * @throws {@link ValidationError} an id is not a UUID, a time is malformed, or `limit` not a whole number
   * from 1.
   */
  list(filter: ListRuns = {}): Pages<Run> {
    const { projectNames, select, order, limit, signal } = filter;
    const wire = definedOf({
      ...toWireFilter(filter),
      select: select && toWireSelect(select),
      order,
    });
    let session: readonly string[] | undefined;
    return pagesByCursor(limit, async (page) => {
      if (page.cursor === undefined) {
        session = await this.#projectsOf(filter.projectIds, projectNames, signal);
      }
      const json = { ...wire, ...(session && { session }), ...page };
      const response = await this.#call("queryRuns", { json, signal });
      const fields = new Fields(response, "page of runs");
      const next = new Fields(fields.object("cursors"), "cursor").optionalText("next");
      return { items: parseList(fields.value("runs"), "runs", parseRun), next };
    });
  }

  /**
   * What the runs of a filter come to.
   *
   * @throws {@link ValidationError} as {@link Runs.list}.
   */
  async stats(filter: FilterRuns = {}): Promise<RunStats> {
    const { projectIds, projectNames, signal } = filter;
    const wire = toWireFilter(filter);
    const session = await this.#projectsOf(projectIds, projectNames, signal);
    const json = { ...wire, ...(session && { session }) };
    return parseRunStats(await this.#call("runStats", { json, signal }));
  }

  /**
   * Makes a run readable by anyone who holds the link. Calling it again answers the same link.
   *
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} there is no such run.
   */
  async share(id: string, { signal }: CallOptions = {}): Promise<RunShare> {
    assertUuid(id, "run id");
    const response = await this.#call("shareRun", { path: { id }, signal });
    return parseRunShare(response, (token) => sharedRunUrl(this.#host, token));
  }

  /** Takes the link back; the next one is another. Calling it again changes nothing. */
  async unshare(id: string, { signal }: CallOptions = {}): Promise<void> {
    assertUuid(id, "run id");
    await this.#call("unshareRun", { path: { id }, signal });
  }

  /**
   * Reads a shared run, by its link or by the token in it. Needs no key.
   *
   * @throws {@link ValidationError} `Invalid public run URL or token`.
   * @throws {@link NotFoundError} nothing is shared under it, or no longer.
   */
  async readShared(urlOrToken: string, { signal }: CallOptions = {}): Promise<Run> {
    const token = publicToken(urlOrToken, { what: "run" });
    return parseRun(await this.#call("readSharedRun", { path: { token }, signal }));
  }

  /** The address of its page; as {@link Runs.read}. */
  async url(id: string, { signal }: CallOptions = {}): Promise<string> {
    const run = await this.read(id, { signal });
    if (run.projectId === undefined) {
      throw new NotFoundError({
        action: "read run",
        status: 404,
        body: "",
        message: `Failed to make the address of run ${id}: the server names no project for it. Check the versions of client and server with "npx millrace doctor"`,
      });
    }
    const { tenantId } = await this.#projects.read({ projectId: run.projectId, signal });
    const { projectId, traceId = id } = run;
    return runUrl(this.#host, { tenantId, projectId, traceId, runId: id });
  }

  /** `undefined`: of whatever project. */
  async #projectsOf(
    ids: readonly string[] | undefined,
    names: readonly string[] | undefined,
    signal: AbortSignal | undefined,
  ): Promise<readonly string[] | undefined> {
    if (names === undefined) {
      return ids;
    }
    const found = await Promise.all(
      names.map((name) => this.#projects.read({ projectName: name, signal })),
    );
    return [...(ids ?? []), ...found.map(({ id }) => id)];
  }
}

/** @throws {@link ValidationError} one is no member of a run. */
function toWireSelect(select: readonly RunField[]): readonly string[] {
  const chosen = Object.fromEntries(select.map((name) => [name, true]));
  const [unknown] = unknownKeysOf(chosen, Object.keys(runFields));
  if (unknown !== undefined) {
    throw new ValidationError(`runs.list: select has an ${unknownKeyText("member", unknown)}`);
  }
  return select.map((name) => runFields[name]);
}

/** A run with the runs of its trace that lie below it, each in its parent's `childRuns`, in order of starting. */
export function nestRuns(run: Run, trace: readonly Run[]): Run {
  const children = new Map<string, Run[]>();
  const inOrder = trace.toSorted((left, right) =>
    (left.dottedOrder ?? "") < (right.dottedOrder ?? "") ? -1 : 1,
  );
  for (const one of inOrder) {
    const parent = one.parentRunId ?? "";
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  return nested(run, children);
}

/** Each parent is taken out as it is met: a damaged trace whose runs lie in a ring ends too. */
function nested(run: Run, children: Map<string, Run[]>): Run {
  const below = children.get(run.id) ?? [];
  children.delete(run.id);
  return { ...run, childRuns: below.map((child) => nested(child, children)) };
}

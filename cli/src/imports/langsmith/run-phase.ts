import type { WirePost } from "millrace";
import type { KeyValues } from "millrace/model";
import { createThenImport } from "../model/import-source.ts";
import type { Item, Phase } from "../model/import-source.ts";
import { downloadAttachments } from "../source/download-attachments.ts";
import type { AttachmentLink } from "../source/download-attachments.ts";
import { omitUndefined } from "../../omit-undefined.ts";
import { isObject, toObject, toObjects, toText, toTime } from "../model/json-values.ts";
import { readUntilItFits } from "../source/pages.ts";
import type { Page } from "../source/pages.ts";
import { ResponseTooLarge, SourceError } from "../source/source-client.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import type { SourceProject } from "./list-projects.ts";
import { selectedFields, toRunRow } from "./run-row.ts";
import type { DetachedPayloads } from "./run-row.ts";

/** Maximum number of runs in a response. LangSmith allows at most 100. */
const pageRuns = 100;
/** Maximum size of inputs or outputs that are stored separately from their run, in bytes. */
const maxPayloadBytes = 67_108_864;

/** Creates the phase that creates projects and imports their runs, in the order of their start times. */
export const createRunPhase = (
  settings: ImportSettings,
  listProjects: () => Promise<readonly SourceProject[]>,
): Phase => ({
  name: "projects",
  listItems: async () =>
    (await listProjects()).map((project): Item => {
      const importer = new ProjectImport(settings, project);
      return {
        key: project.id,
        label: `project ${JSON.stringify(project.name)}`,
        importPage: createThenImport(
          () => importer.create(),
          (cursor) => importer.importRuns(cursor),
        ),
      };
    }),
});

class ProjectImport {
  readonly #settings: ImportSettings;
  readonly #project: SourceProject;
  /** The name of the project on the target; set by the first page. */
  #targetName: string | undefined;

  constructor(settings: ImportSettings, project: SourceProject) {
    this.#settings = settings;
    this.#project = project;
  }

  /** Creates the project. Returns whether its runs are also imported. */
  async create(): Promise<boolean> {
    this.#targetName = await this.#addProject();
    return this.#settings.kinds.has("runs");
  }

  async importRuns(cursor: string | undefined): Promise<string | undefined> {
    this.#targetName ??= await this.#findTargetName();
    const { rows: runs, next } = await this.#readRuns(cursor);
    const { target } = this.#settings;
    const runStates = await target.findRuns(runs.map(({ id }) => toText(id) ?? ""));
    const findState = ({ id }: KeyValues) => runStates.get(toText(id) ?? "");
    const missing = runs.filter((run) => findState(run) === undefined);
    const ended = runs.filter(
      (run) => findState(run) === "open" && toTime(run["end_time"]) !== undefined,
    );
    target.tally.add("runs", "existing", runs.length - missing.length - ended.length);
    await target.addRuns(this.#targetName, this.#toRows(missing, this.#targetName));
    const ends: WirePost[] = [];
    for (const run of ended) {
      ends.push(toRunRow(run, this.#targetName, await this.#readAllDetached(run)));
    }
    await target.endRuns(ends);
    return next;
  }

  #addProject(): Promise<string> {
    const { id, name, json } = this.#project;
    return this.#settings.target.addProject(
      omitUndefined({
        id,
        name,
        description: toText(json["description"]),
        extra: isObject(json["extra"]) ? json["extra"] : undefined,
        referenceDatasetId: toText(json["reference_dataset_id"]),
        startTime: toTime(json["start_time"]),
        endTime: toTime(json["end_time"]),
      }),
    );
  }

  /** Finds the project that was created before an interruption. Creates it again if it no longer exists. */
  async #findTargetName(): Promise<string> {
    const { target } = this.#settings;
    const { name } = this.#project;
    return target.isDryRun || (await target.findProject(name)) !== undefined
      ? name
      : this.#addProject();
  }

  /** Reads a page of runs. A run that is too large on its own is left out. */
  async #readRuns(cursor: string | undefined): Promise<Page<KeyValues>> {
    try {
      return await readUntilItFits({ maxRows: pageRuns }, (limit) =>
        this.#query(cursor, limit, selectedFields),
      );
    } catch (error) {
      if (!(error instanceof ResponseTooLarge)) {
        throw error;
      }
    }
    const { rows, next } = await this.#query(cursor, 1, ["id"]);
    const { tally } = this.#settings.target;
    rows.forEach((run) =>
      tally.leaveOut("runs", "it is too large for one response", toText(run["id"])),
    );
    return { rows: [], next };
  }

  async #query(
    cursor: string | undefined,
    limit: number,
    select: readonly string[],
  ): Promise<Page<KeyValues>> {
    const { client, since, until } = this.#settings;
    const response = toObject(
      await client.post(
        "/runs/query",
        omitUndefined({
          session: [this.#project.id],
          filter: `lt(start_time, "${until}")`,
          start_time: since,
          order: "asc",
          select,
          limit,
          cursor,
        }),
      ),
    );
    if (!Array.isArray(response["runs"])) {
      throw new SourceError(`the response of ${client.address} to POST /runs/query has no runs`);
    }
    return {
      rows: toObjects(response["runs"]),
      next: toText(toObject(response["cursors"])["next"]),
    };
  }

  async *#toRows(runs: readonly KeyValues[], projectName: string): AsyncGenerator<WirePost> {
    const { client, target } = this.#settings;
    const { tally, isDryRun } = target;
    for (const run of runs) {
      const row = toText(run["id"]) ?? "";
      const attachments = await downloadAttachments(readLinks(run["s3_urls"]), {
        client,
        tally,
        isDryRun,
        row,
      });
      yield {
        ...toRunRow(run, projectName, await this.#readAllDetached(run)),
        ...(attachments === undefined ? {} : { attachments }),
      };
    }
  }

  async #readAllDetached(run: KeyValues): Promise<DetachedPayloads> {
    return {
      inputs: await this.#readDetached(run, "inputs"),
      outputs: await this.#readDetached(run, "outputs"),
    };
  }

  /** Reads inputs or outputs that the server stores separately from the run because of their size. */
  async #readDetached(run: KeyValues, field: "inputs" | "outputs"): Promise<unknown> {
    const { client, target } = this.#settings;
    const address = toText(toObject(toObject(run[`${field}_s3_urls`])["ROOT"])["presigned_url"]);
    if (address === undefined || isObject(run[field]) || target.isDryRun) {
      return undefined;
    }
    try {
      const json: unknown = JSON.parse(
        (await client.download(address, maxPayloadBytes)).toString(),
      );
      return json;
    } catch (error) {
      if (!(error instanceof SourceError) && !(error instanceof SyntaxError)) {
        throw error;
      }
      const reason = error instanceof SourceError ? error.message : "they are not JSON";
      target.tally.leaveOut("attachments", `stored ${field}: ${reason}`, toText(run["id"]));
      return undefined;
    }
  }
}

/** Reads the URLs of attachments, whose keys are `attachment.<name>`. */
export function readLinks(urls: unknown): readonly AttachmentLink[] {
  const prefix = "attachment.";
  return Object.entries(toObject(urls)).flatMap(([key, value]) => {
    const url = toText(toObject(value)["presigned_url"]);
    return key.startsWith(prefix) && url !== undefined
      ? [{ name: key.slice(prefix.length), url, mimeType: toText(toObject(value)["mime_type"]) }]
      : [];
  });
}

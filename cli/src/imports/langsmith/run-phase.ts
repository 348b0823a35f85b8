import type { WirePost } from "millrace";
import type { KeyValues } from "millrace/model";
import type { Item, Phase } from "../model/import-source.ts";
import { downloadAttachments } from "../source/download-attachments.ts";
import type { AttachmentLink } from "../source/download-attachments.ts";
import {
  isObject,
  omitUndefined,
  toObject,
  toObjects,
  toText,
  toTime,
} from "../model/json-values.ts";
import { ResponseTooLarge, SourceError } from "../source/source-client.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import type { SourceProject } from "./list-projects.ts";
import { selectedFields, toRunRow } from "./run-row.ts";
import type { DetachedPayloads } from "./run-row.ts";

/** Maximum number of runs in a response; the platform allows 100. */
const pageRuns = 100;
/** Largest payload at an address of its own, in bytes. */
const maxPayloadBytes = 67_108_864;

/** Creates projects, and imports their runs in the order of their start. */
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
        importPage: (cursor) => importer.importPage(cursor),
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

  async importPage(cursor: string | undefined): Promise<string | undefined> {
    const { kinds } = this.#settings;
    if (cursor === undefined) {
      this.#targetName = await this.#addProject();
      return kinds.has("runs") ? firstPage : undefined;
    }
    this.#targetName ??= await this.#findTargetName();
    const { runs, next } = await this.#readRuns(cursor === firstPage ? undefined : cursor);
    const { target } = this.#settings;
    const known = await target.findRuns(runs.map(({ id }) => toText(id) ?? ""));
    const stateOf = ({ id }: KeyValues) => known.get(toText(id) ?? "");
    const missing = runs.filter((run) => stateOf(run) === undefined);
    const ended = runs.filter(
      (run) => stateOf(run) === "open" && toTime(run["end_time"]) !== undefined,
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

  /** After an interruption, finds the project that the first page created. */
  async #findTargetName(): Promise<string> {
    const { target } = this.#settings;
    const { name } = this.#project;
    return target.isDryRun || (await target.findProject(name)) !== undefined
      ? name
      : this.#addProject();
  }

  /** Reads a page of runs. If the response is too large, fewer runs are requested, down to one. */
  async #readRuns(
    cursor: string | undefined,
  ): Promise<{ readonly runs: readonly KeyValues[]; readonly next: string | undefined }> {
    for (let limit = pageRuns; limit >= 1; limit = Math.floor(limit / 4)) {
      try {
        return await this.#query(cursor, limit, selectedFields);
      } catch (error) {
        if (!(error instanceof ResponseTooLarge)) {
          throw error;
        }
      }
    }
    const { runs, next } = await this.#query(cursor, 1, ["id"]);
    const { tally } = this.#settings.target;
    runs.forEach((run) =>
      tally.leaveOut("runs", "it is larger than a response may be", toText(run["id"])),
    );
    return { runs: [], next };
  }

  async #query(
    cursor: string | undefined,
    limit: number,
    select: readonly string[],
  ): Promise<{ readonly runs: readonly KeyValues[]; readonly next: string | undefined }> {
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
      runs: toObjects(response["runs"]),
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
        ...(attachments.length === 0
          ? {}
          : {
              attachments: Object.fromEntries(
                attachments.map(({ name, mimeType, bytes }) => [name, { mimeType, data: bytes }]),
              ),
            }),
      };
    }
  }

  async #readAllDetached(run: KeyValues): Promise<DetachedPayloads> {
    return {
      inputs: await this.#readDetached(run, "inputs"),
      outputs: await this.#readDetached(run, "outputs"),
    };
  }

  /** Reads inputs or outputs that the server stores apart from the run, because they are large. */
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

/** The cursor of the first page of runs. The server's own cursors never have this form. */
const firstPage = "first page";

/** Reads the addresses of attachments, which are listed under `attachment.<name>`. */
export function readLinks(urls: unknown): readonly AttachmentLink[] {
  const prefix = "attachment.";
  return Object.entries(toObject(urls)).flatMap(([key, value]) => {
    const url = toText(toObject(value)["presigned_url"]);
    return key.startsWith(prefix) && url !== undefined
      ? [{ name: key.slice(prefix.length), url, mimeType: toText(toObject(value)["mime_type"]) }]
      : [];
  });
}

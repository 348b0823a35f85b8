import type { CreateFeedback, FeedbackSourceType } from "millrace";
import type { KeyValues } from "millrace/model";
import type { Phase } from "../model/import-source.ts";
import { omitUndefined } from "../../omit-undefined.ts";
import { isObject, toNumber, toObject, toObjects, toText, toTime } from "../model/json-values.ts";
import { pageRows, readOffsetPage } from "../source/pages.ts";
import type { Page } from "../source/pages.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import { readDataPage } from "./data-page.ts";
import type { LangfuseProject } from "./langfuse-project.ts";
import { toMetadata } from "./payloads.ts";

/** Creates the phase that imports the scores of traces and observations as feedback. */
export function createScorePhase(
  settings: ImportSettings,
  readProject: () => Promise<LangfuseProject>,
): Phase {
  let readPage: Promise<ReadScores> | undefined;
  return {
    name: "feedback",
    listItems: async () => {
      const project = await readProject();
      return [
        {
          key: project.id,
          label: `feedback of project ${JSON.stringify(project.name)}`,
          importPage: async (cursor) => {
            readPage ??= chooseReader(settings);
            const { rows, next } = await (await readPage)(cursor);
            await settings.target.addFeedback(toFeedbackRows(settings, project, rows));
            return next;
          },
        },
      ];
    },
  };
}

type ReadScores = (cursor: string | undefined) => Promise<Page<KeyValues>>;

/**
 * Chooses the version of the API. The newest is tried first, because the older ones may still exist in Langfuse 4, but
 * return no scores there.
 */
async function chooseReader({ client, since, until }: ImportSettings): Promise<ReadScores> {
  const period = { fromTimestamp: since, toTimestamp: until };
  const newPath = "/api/public/v3/scores";
  if ((await client.find(newPath, { limit: 1 })) !== undefined) {
    return async (cursor) => {
      const { data, meta } = toObject(
        await client.get(newPath, {
          ...period,
          limit: pageRows,
          cursor,
          fields: "details,subject,annotation",
        }),
      );
      return { rows: toObjects(data), next: toText(toObject(meta)["cursor"]) };
    };
  }
  const hasVersion2 = (await client.find("/api/public/v2/scores", { limit: 1 })) !== undefined;
  const path = hasVersion2 ? "/api/public/v2/scores" : "/api/public/scores";
  return (cursor) =>
    readOffsetPage(cursor, (range) => readDataPage(client, path, { ...period, ...range }));
}

function* toFeedbackRows(
  { target: { tally } }: ImportSettings,
  project: LangfuseProject,
  rows: readonly KeyValues[],
): Generator<CreateFeedback> {
  for (const row of rows) {
    const id = toText(row["id"]);
    const name = toText(row["name"]);
    const runId = findRun(project, row);
    if (id === undefined || name === undefined) {
      tally.leaveOut("feedback", "it has no id or no name", id);
    } else if (runId === undefined) {
      tally.leaveOut(
        "feedback",
        "it is about a session or a dataset run, not about a trace or an observation",
        id,
      );
    } else {
      yield toFeedback(row, { id, name, runId, project });
    }
  }
}

/** Finds the run that a score is about. The members that contain its id depend on the version of the API. */
function findRun({ ids }: LangfuseProject, row: KeyValues): string | undefined {
  const { kind, id, traceId: subjectTraceId } = toObject(row["subject"]);
  const isTrace = kind === "trace";
  const traceId = toText(isTrace ? id : (subjectTraceId ?? row["traceId"]));
  const observationId = toText(kind === "observation" ? id : row["observationId"]);
  if (traceId === undefined) {
    return undefined;
  }
  return observationId === undefined ? ids.trace(traceId) : ids.observation(traceId, observationId);
}

const sourceTypes: ReadonlyMap<string, FeedbackSourceType> = new Map([
  ["API", "api"],
  ["EVAL", "model"],
  ["ANNOTATION", "app"],
]);

function toFeedback(
  row: KeyValues,
  {
    id,
    name,
    runId,
    project,
  }: {
    readonly id: string;
    readonly name: string;
    readonly runId: string;
    readonly project: LangfuseProject;
  },
): CreateFeedback {
  return {
    runId,
    id: project.ids.score(id),
    key: name,
    ...toJudgement(row),
    ...omitUndefined({
      comment: toText(row["comment"]),
      createdAt: toTime(row["timestamp"]),
    }),
    sourceType: sourceTypes.get(toText(row["source"]) ?? "API") ?? "api",
    sourceMetadata: omitUndefined({
      ...toMetadata(row["metadata"]),
      langfuse_id: id,
      langfuse_author_id: toText(row["authorUserId"]),
      langfuse_queue_id: toText(row["queueId"]),
      langfuse_config_id: toText(row["configId"]),
      langfuse_environment: toText(row["environment"]),
    }),
  };
}

/**
 * Converts the value of a score by its type. Newer versions of the API return the text of a category in `value` instead
 * of `stringValue`.
 */
function toJudgement(row: KeyValues): Pick<CreateFeedback, "score" | "value" | "correction"> {
  const { value } = row;
  const text = toText(row["stringValue"]) ?? toText(value);
  switch (row["dataType"]) {
    case "BOOLEAN":
      return omitUndefined({
        score: typeof value === "boolean" ? value : toBoolean(toNumber(value)),
      });
    case "CATEGORICAL":
      // Without a configuration, the number of a category is always 0, so it is not imported.
      return omitUndefined({
        score: toText(row["configId"]) === undefined ? undefined : toNumericScore(value),
        value: text,
      });
    case "TEXT":
      return omitUndefined({ value: text });
    case "CORRECTION":
      return omitUndefined({ correction: toCorrection(text) });
    default:
      return omitUndefined({ score: toNumber(value), value: row["stringValue"] ?? undefined });
  }
}

const toBoolean = (value: number | undefined): boolean | undefined =>
  value === undefined ? undefined : value !== 0;

const toNumericScore = (value: unknown): number | undefined =>
  typeof value === "number" ? value : undefined;

/** Parses a correction, the output that would have been right. It is often JSON. */
function toCorrection(text: string | undefined): KeyValues | string | undefined {
  try {
    const json: unknown = JSON.parse(text ?? "");
    return isObject(json) ? json : text;
  } catch {
    return text;
  }
}

import type { CreateFeedback, FeedbackSourceType } from "millrace";
import type { KeyValues } from "millrace/model";
import type { Item, Phase } from "../model/import-source.ts";
import { omitUndefined } from "../../omit-undefined.ts";
import { isObject, toObject, toObjects, toText, toTime } from "../model/json-values.ts";
import { readOffsetPage } from "../source/pages.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import type { SourceProject } from "./list-projects.ts";

/** Creates the phase that imports the feedback on projects and their runs. */
export const createFeedbackPhase = (
  settings: ImportSettings,
  listProjects: () => Promise<readonly SourceProject[]>,
): Phase => ({
  name: "feedback",
  listItems: async () =>
    (await listProjects()).map((project): Item => ({
      key: project.id,
      label: `feedback of project ${JSON.stringify(project.name)}`,
      importPage: (cursor) => importPage(settings, project, cursor),
    })),
});

async function importPage(
  { client, target, since, until }: ImportSettings,
  project: SourceProject,
  cursor: string | undefined,
): Promise<string | undefined> {
  const { rows, next } = await readOffsetPage(cursor, async (page) =>
    toObjects(
      await client.get("/feedback", {
        session: project.id,
        ...page,
        min_created_at: since,
        // Feedback that is created during the import would otherwise shift the pages.
        max_created_at: until,
      }),
    ),
  );
  const onProject = rows.some((row) => toText(row["run_id"]) === undefined);
  const targetProject =
    onProject && !target.isDryRun ? await target.findProject(project.name) : undefined;
  const feedback: CreateFeedback[] = [];
  for (const row of rows) {
    const converted = toFeedback(row, targetProject?.id ?? project.id);
    if (converted === undefined) {
      target.tally.leaveOut("feedback", "it has no id or no key", toText(row["id"]));
    } else {
      feedback.push(converted);
    }
  }
  await target.addFeedback(feedback);
  return next;
}

const sourceTypes: readonly FeedbackSourceType[] = ["api", "model", "app", "auto_eval"];

/** Converts feedback. Returns `undefined` if it has no id or no key. */
function toFeedback(row: KeyValues, projectId: string): CreateFeedback | undefined {
  const [id, key, runId] = [toText(row["id"]), toText(row["key"]), toText(row["run_id"])];
  if (id === undefined || key === undefined) {
    return undefined;
  }
  const source = toObject(row["feedback_source"]);
  const userName = toText(source["user_name"]);
  const { score, value, comment, correction, extra } = row;
  return omitUndefined({
    ...(runId === undefined ? { projectId } : { runId }),
    id,
    key,
    score: typeof score === "number" || typeof score === "boolean" ? score : undefined,
    value: value ?? undefined,
    comment: toText(comment),
    correction: isObject(correction) ? correction : toText(correction),
    error: toObject(extra)["error"] === true ? true : undefined,
    sourceType: sourceTypes.find((type) => type === source["type"]),
    sourceMetadata: {
      ...toObject(source["metadata"]),
      ...(userName === undefined ? {} : { user_name: userName }),
    },
    createdAt: toTime(row["created_at"]),
  });
}

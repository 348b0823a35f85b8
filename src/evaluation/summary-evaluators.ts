import { NotFoundError } from "../main/index.ts";
import type { Client } from "../main/index.ts";
import { toRowScores } from "./rows/scores.ts";
import type { RowScore } from "./evaluator.ts";
import { createFeedbackId } from "./ids.ts";
import type { SummaryEvaluator } from "./options.ts";
import type { ExperimentInfo, UntypedRow } from "./result.ts";
import { describeError } from "./rows/deadline.ts";
import type { Summary } from "./summary.ts";

/** Data for the arguments of summary evaluators. */
interface SummaryCall {
  readonly info: ExperimentInfo;
  readonly summary: Summary;
  readonly readRows: () => AsyncIterable<UntypedRow>;
}

/** Calls the summary evaluators. If one throws, the result contains a score with the error. */
export async function callSummaryEvaluators(
  evaluators: readonly SummaryEvaluator<unknown, unknown, unknown>[],
  { info, summary, readRows }: SummaryCall,
): Promise<readonly RowScore[]> {
  const scores: RowScore[] = [];
  for (const [index, evaluator] of evaluators.entries()) {
    const name = evaluator.name || `summary evaluator ${index + 1}`;
    try {
      const result = await evaluator({
        experiment: info,
        summary: summary.progress(),
        readRows,
      });
      scores.push(...toRowScores(result, name));
    } catch (error) {
      scores.push({ key: name, error: describeError(error) });
    }
  }
  return scores;
}

/**
 * Stores scores as feedback on the experiment. They replace the scores that an earlier evaluation of the experiment
 * stored.
 */
export async function storeSummaryScores(
  client: Client,
  info: ExperimentInfo,
  scores: readonly RowScore[],
): Promise<void> {
  for (const [index, { key, error, comment, metadata, ...judgement }] of scores.entries()) {
    const id = createFeedbackId(info.id, key, index);
    const fields = { ...judgement, comment: error ?? comment };
    if (await hasFeedback(client, id)) {
      await client.feedback.update(id, fields);
    } else {
      await client.feedback.create({
        id,
        projectId: info.id,
        key,
        ...fields,
        ...(error === undefined ? {} : { error: true }),
        sourceType: "model",
        ...(metadata && { sourceMetadata: metadata }),
      });
    }
  }
}

/** Whether an earlier evaluation of the experiment created the feedback. */
async function hasFeedback(client: Client, id: string): Promise<boolean> {
  try {
    await client.feedback.read(id);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) {
      return false;
    }
    throw error;
  }
}

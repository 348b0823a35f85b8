import { omitUndefined } from "../omit-undefined.ts";
import type {
  AnnotationQueue,
  AnnotationQueueRubricItem,
  AnnotationQueueWithDetails,
  RunKey,
  RunWithAnnotationQueueInfo,
} from "../schemas.ts";
import type { RubricItem } from "millrace";
import { convert } from "./base-client.ts";
import { PromptMethods } from "./prompt-methods.ts";
import { toQueue, toQueuedRun } from "./to-langsmith.ts";

/** The texts of an annotation queue. */
interface QueueText {
  description?: string;
  rubricInstructions?: string;
  rubricItems?: AnnotationQueueRubricItem[];
}

/** The part of the client for annotation queues. */
export class QueueMethods extends PromptMethods {
  async *listAnnotationQueues(
    options: { queueIds?: string[]; name?: string; nameContains?: string; limit?: number } = {},
  ): AsyncIterableIterator<AnnotationQueue> {
    const { queueIds, ...others } = options;
    yield* convert(
      this.millrace.annotationQueues.list(omitUndefined({ ...others, ids: queueIds })),
      toQueue,
    );
  }

  async createAnnotationQueue(
    options: QueueText & { name: string; queueId?: string },
  ): Promise<AnnotationQueueWithDetails> {
    const { name, queueId, rubricItems, ...others } = options;
    return toQueue(
      await this.millrace.annotationQueues.create({
        name,
        ...omitUndefined({ ...others, id: queueId, rubricItems: toRubricItems(rubricItems) }),
      }),
    );
  }

  async readAnnotationQueue(queueId: string): Promise<AnnotationQueueWithDetails> {
    return toQueue(await this.millrace.annotationQueues.read(queueId));
  }

  async updateAnnotationQueue(
    queueId: string,
    options: QueueText & { name?: string },
  ): Promise<void> {
    const { rubricItems, ...others } = options;
    await this.millrace.annotationQueues.update(
      queueId,
      omitUndefined({ ...others, rubricItems: toRubricItems(rubricItems) }),
    );
  }

  async deleteAnnotationQueue(queueId: string): Promise<void> {
    await this.millrace.annotationQueues.delete(queueId);
  }

  async addRunsToAnnotationQueue(queueId: string, runs: string[] | RunKey[]): Promise<void> {
    const keys = runs.filter((run): run is RunKey => typeof run !== "string");
    const runIds = runs.filter((run): run is string => typeof run === "string");
    await this.millrace.annotationQueues.addRuns(
      queueId,
      keys.length === 0
        ? { runIds }
        : {
            runs: keys.map(({ runId, sessionId, startTime }) => ({
              runId,
              projectId: sessionId,
              startTime: new Date(startTime),
            })),
          },
    );
  }

  async getRunFromAnnotationQueue(
    queueId: string,
    index: number,
  ): Promise<RunWithAnnotationQueueInfo> {
    return toQueuedRun(await this.millrace.annotationQueues.readRun(queueId, { index }));
  }

  async *listRunsFromAnnotationQueue(
    queueId: string,
    options: {
      status?: "needs_my_review" | "needs_others_review" | "completed";
      limit?: number;
    } = {},
  ): AsyncIterableIterator<RunWithAnnotationQueueInfo> {
    yield* convert(
      this.millrace.annotationQueues.listRuns(queueId, omitUndefined(options)),
      toQueuedRun,
    );
  }

  async deleteRunFromAnnotationQueue(queueId: string, queueRunId: string): Promise<void> {
    await this.millrace.annotationQueues.removeRun(queueId, { queueRunId });
  }

  async getSizeFromAnnotationQueue(queueId: string): Promise<{ size: number }> {
    return { size: await this.millrace.annotationQueues.size(queueId) };
  }
}

const toRubricItems = (items: AnnotationQueueRubricItem[] | undefined): RubricItem[] | undefined =>
  items?.map((item) =>
    omitUndefined({
      feedbackKey: item.feedback_key,
      description: item.description ?? undefined,
      valueDescriptions: item.value_descriptions ?? undefined,
      scoreDescriptions: item.score_descriptions ?? undefined,
      isRequired: item.is_required ?? undefined,
    }),
  );

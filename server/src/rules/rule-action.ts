import { createHash } from "node:crypto";
import { Type } from "typebox";
import type { Static } from "typebox";
import type { DatasetReads } from "../datasets/dataset.ts";
import { addSplits } from "../datasets/examples/splits.ts";
import type { ExampleDraft, ExampleWrites } from "../datasets/examples/example.ts";
import { readInputsAndOutputs } from "../datasets/examples/source-run.ts";
import { judgeSchema } from "../judges/judge-schema.ts";
import { RequestError } from "../model/errors.ts";
import type { AnnotationQueueReads, AnnotationQueueWrites } from "../queues/annotation-queue.ts";
import type { RunReads } from "../runs/run-query.ts";
import type { StoredRun } from "../runs/run-row.ts";
import { toRunJson } from "../runs/serializers/run-json.ts";
import type { RunStore } from "../runs/run-store.ts";
import type { Promised } from "../storage/promised.ts";
import { assertJudge, judgeRun } from "./judge-action.ts";
import type { JudgeDependencies } from "./judge-action.ts";
import type { WebhookReads, WebhookWrites } from "../webhooks/webhook.ts";

/** The part of the store that the actions of rules use. */
export interface ActionStore extends Pick<RunStore, "ingest"> {
  readonly read: Promised<{ readonly runs: RunReads }> & {
    readonly annotationQueues: Pick<AnnotationQueueReads, "find">;
    readonly datasets: Pick<DatasetReads, "find">;
    readonly webhooks: Pick<WebhookReads, "find">;
  };
  readonly write: {
    readonly annotationQueues: Pick<AnnotationQueueWrites, "addRuns">;
    readonly examples: Pick<ExampleWrites, "create">;
    readonly webhooks: Pick<WebhookWrites, "enqueue">;
  };
}

/** What the actions of rules depend on. */
export interface ActionDependencies {
  readonly store: ActionStore;
  readonly judging: JudgeDependencies;
}

const queueAction = Type.Object({ kind: Type.Literal("queue"), queue_id: Type.String() });
const datasetAction = Type.Object({ kind: Type.Literal("dataset"), dataset_id: Type.String() });
const webhookAction = Type.Object({ kind: Type.Literal("webhook"), webhook_id: Type.String() });
/** Adds a judge's feedback to the run. The judge's template may use the variables `inputs` and `output`. */
const judgeAction = Type.Object({ kind: Type.Literal("judge"), ...judgeSchema.properties });

/**
 * The schema of the action that a rule takes for a run. To add a kind of action, add its schema here and its
 * implementation to `ruleActions`.
 */
export const ruleActionSchema = Type.Union([
  queueAction,
  datasetAction,
  webhookAction,
  judgeAction,
]);

/** The action that a rule takes for each run to which it applies. */
export type RuleAction = Static<typeof ruleActionSchema>;

/** The runs to which an action is applied, and the rule that applies it. */
export interface ActionCall<Action> {
  readonly tenantId: string;
  readonly rule: { readonly id: string; readonly name: string };
  readonly action: Action;
  readonly runIds: readonly string[];
  /** Aborted when the server closes, so that an action that takes long ends early. */
  readonly signal: AbortSignal;
}

interface ActionKind<Action> {
  /** @throws RequestError 422: the target of the action does not exist, or the action can't be taken. */
  readonly assertTarget: (
    dependencies: ActionDependencies,
    tenantId: string,
    action: Action,
  ) => Promise<void>;
  /**
   * Takes the action for some runs. Repeating it must change nothing: it is repeated if it failed after some of the
   * runs, or if the server failed before it recorded that the action was taken.
   */
  readonly apply: (dependencies: ActionDependencies, call: ActionCall<Action>) => Promise<void>;
}

type ActionOf<Kind extends RuleAction["kind"]> = Extract<RuleAction, { readonly kind: Kind }>;

const ruleActions: { readonly [Kind in RuleAction["kind"]]: ActionKind<ActionOf<Kind>> } = {
  queue: {
    assertTarget: async ({ store }, tenantId, { queue_id }) => {
      assertExists(await store.read.annotationQueues.find(tenantId, queue_id), "annotation queue");
    },
    apply: async ({ store }, { tenantId, action, runIds }) => {
      const keys = runIds.map((runId) => ({ runId, projectId: null }));
      await store.write.annotationQueues.addRuns(tenantId, action.queue_id, keys);
    },
  },
  dataset: {
    assertTarget: async ({ store }, tenantId, { dataset_id }) => {
      assertExists(await store.read.datasets.find(tenantId, dataset_id), "dataset");
    },
    apply: async ({ store }, { tenantId, rule, action, runIds }) => {
      let drafts: ExampleDraft[] = [];
      let chars = 0;
      for (const runId of runIds) {
        const content = readInputsAndOutputs(await findRun(store, tenantId, runId));
        chars += content.inputs.length + (content.outputs?.length ?? 0);
        drafts.push({
          id: deriveId(rule.id, runId),
          hasGeneratedId: false,
          datasetId: action.dataset_id,
          sourceRunId: runId,
          metadata: addSplits(null, undefined),
          ...content,
        });
        if (chars > maxCollectedChars) {
          await store.write.examples.create(tenantId, drafts);
          drafts = [];
          chars = 0;
        }
      }
      if (drafts.length > 0) {
        await store.write.examples.create(tenantId, drafts);
      }
    },
  },
  webhook: {
    assertTarget: async ({ store }, tenantId, { webhook_id }) => {
      try {
        await store.read.webhooks.find(tenantId, webhook_id);
      } catch (cause) {
        if (!(cause instanceof RequestError)) {
          throw cause;
        }
        assertExists(undefined, "webhook");
      }
    },
    apply: async ({ store }, { tenantId, rule, action, runIds }) => {
      const drafts = [];
      for (const runId of runIds) {
        const run = await findRun(store, tenantId, runId);
        drafts.push({
          id: deriveId(rule.id, runId),
          webhookId: action.webhook_id,
          event: "run.matched",
          data: { rule, run: describeRun(run) },
        });
      }
      await store.write.webhooks.enqueue(tenantId, drafts);
    },
  },
  judge: {
    assertTarget: async ({ judging }, _tenantId, judge) => assertJudge(judging, judge),
    apply: async ({ store, judging }, { tenantId, rule, action: judge, runIds, signal }) => {
      for (const runId of runIds) {
        const run = await findRun(store, tenantId, runId);
        const id = deriveId(rule.id, runId);
        await judgeRun(store, judging, { tenantId, rule, judge, run, id, signal });
      }
    },
  },
};

/**
 * Checks that the target of an action exists, and that the action can be taken.
 *
 * @throws RequestError 422: the target does not exist, or the action can't be taken.
 */
export const assertActionTarget = (
  dependencies: ActionDependencies,
  tenantId: string,
  action: RuleAction,
): Promise<void> => kindOf(action).assertTarget(dependencies, tenantId, action);

/** Takes the action of a rule for some runs. */
export const applyAction = (
  dependencies: ActionDependencies,
  call: ActionCall<RuleAction>,
): Promise<void> => kindOf(call.action).apply(dependencies, call);

/**
 * Finds the implementation of an action. The cast is needed because the compiler can't relate the kind of an action to
 * an entry of `ruleActions`.
 */
const kindOf = ({ kind }: RuleAction): ActionKind<RuleAction> =>
  ruleActions[kind] as ActionKind<RuleAction>;

function assertExists(target: unknown, name: string): void {
  if (target === undefined) {
    throw new RequestError(422, `action: there is no such ${name}`);
  }
}

async function findRun(store: ActionStore, tenantId: string, id: string): Promise<StoredRun> {
  const run = await store.read.runs.find(tenantId, id);
  if (run === undefined) {
    throw new RequestError(404, "The run was deleted before the action was taken.");
  }
  return run;
}

/**
 * The members of a run that a webhook receives. Inputs and outputs are not among them; a receiver can read them by the
 * run's id.
 */
const describedMembers: ReadonlySet<string> = new Set([
  "id",
  "trace_id",
  "session_id",
  "session_name",
  "name",
  "run_type",
  "status",
  "start_time",
  "end_time",
  "error",
  "tags",
  "app_path",
]);

/**
 * Maximum number of characters of the inputs and outputs that are collected before their examples are stored. The last
 * run may exceed it.
 */
const maxCollectedChars = 8_388_608;

/** Maximum number of characters of a run's error that a webhook receives. */
const errorChars = 2_000;

function describeRun(run: StoredRun): object {
  const members = JSON.parse(toRunJson(run, { select: describedMembers }).toString()) as Readonly<
    Record<string, unknown>
  >;
  const { error } = members;
  return typeof error === "string" ? { ...members, error: error.slice(0, errorChars) } : members;
}

/** Derives an id from the rule and the run, so that applying the rule to the same run again adds nothing. */
function deriveId(ruleId: string, runId: string): string {
  const hex = createHash("sha256").update(`${ruleId} ${runId}`).digest("hex");
  // Set the version to 8, which leaves the other bits of a UUID free to define, and the variant that goes with it.
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) % 4] ?? "8";
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

import { randomUUID } from "node:crypto";
import { createNamedId } from "millrace/scorers";
import { JsonCursor } from "../bodies/json-cursor.ts";
import { callJudge } from "../judges/call-judge.ts";
import type { JudgeModels } from "../judges/call-judge.ts";
import { findTemplateFault } from "../judges/judge-prompt.ts";
import type { JudgePromptTask } from "../judges/judge-prompt.ts";
import type { Judge } from "../judges/judge-schema.ts";
import { createFeedbackPart, storeParts } from "../judges/result-parts.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import type { RunReads } from "../runs/run-query.ts";
import type { StoredRun } from "../runs/run-row.ts";
import type { RunStore } from "../runs/run-store.ts";
import { toRunJson } from "../runs/serializers/run-json.ts";
import type { Promised } from "../storage/promised.ts";
import type { WorkThreads } from "../storage/work-threads.ts";

/** What running the judges of rules depends on. */
export interface JudgeDependencies {
  readonly models: JudgeModels;
  readonly workThreads: Pick<WorkThreads, "run">;
}

/** A request to judge a run with the judge of a rule. */
interface JudgeRequest {
  readonly tenantId: string;
  readonly rule: { readonly id: string; readonly name: string };
  readonly judge: Judge;
  readonly run: StoredRun;
  /** The id of the run that records the judge's call. It is derived from the rule and the judged run. */
  readonly id: string;
  readonly signal: AbortSignal;
}

/** @throws RequestError 422: the judge can't judge runs. */
export function assertJudge({ models }: JudgeDependencies, { endpoint, template }: Judge): void {
  try {
    models.findEndpoint(endpoint);
  } catch (cause) {
    throw new RequestError(422, `action: ${messageOf(cause)}`);
  }
  const fault = findTemplateFault(template);
  if (fault !== undefined) {
    throw new RequestError(422, `action.template: ${fault}`);
  }
}

/**
 * Judges a run, and stores the feedback and the call together. If the call is already stored, no model is called and
 * nothing changes: the server may have been killed after it had stored the call, but before it recorded that the action
 * was taken.
 *
 * @throws RequestError if a limit of calls or of costs is reached, the judge gave no valid answer, or the template
 * can't be filled in. If the call was canceled, throws the signal's reason.
 */
export async function judgeRun(
  store: Pick<RunStore, "ingest"> & { readonly read: Promised<{ readonly runs: RunReads }> },
  { models, workThreads }: JudgeDependencies,
  { tenantId, rule, judge, run, id, signal }: JudgeRequest,
): Promise<void> {
  if ((await store.read.runs.find(tenantId, id)) !== undefined) {
    return;
  }
  const prompt = await workThreads.run<JudgePromptTask>(tenantId, {
    kind: "fillJudgePrompt",
    template: judge.template,
    ...readContent(run),
  });
  if ("error" in prompt) {
    throw new RequestError(422, prompt.error);
  }
  const { id: runId, traceId } = run.row;
  const { outcome, run: call } = await callJudge(models, {
    tenantId,
    judge,
    prompt: prompt.text,
    id,
    // A failed attempt costs money, too. It is recorded under another id, so that it does not count as the judgement of
    // the run.
    failedId: randomUUID(),
    metadata: { rule_id: rule.id, rule: rule.name, run_id: runId },
    signal,
  });
  if ("error" in outcome) {
    await storeParts(store, tenantId, [call]);
    throw new RequestError(502, outcome.error);
  }
  const feedback = createFeedbackPart({
    id: createNamedId(id, "feedback"),
    runId,
    traceId,
    outcome,
    sourceRunId: id,
    metadata: { rule },
  });
  await storeParts(store, tenantId, [call, feedback]);
}

const contentMembers: ReadonlySet<string> = new Set(["inputs", "outputs"]);

/** Returns the JSON of the inputs and outputs of a run. */
function readContent(run: StoredRun): Pick<JudgePromptTask, "inputs" | "outputs"> {
  const members = new JsonCursor(toRunJson(run, { select: contentMembers })).readMembers();
  const [inputs = "null", outputs = "null"] = ["inputs", "outputs"].map((name) =>
    members.get(name)?.toString("utf8"),
  );
  return {
    inputs: inputs === "null" ? "{}" : inputs,
    outputs: outputs === "null" ? null : outputs,
  };
}

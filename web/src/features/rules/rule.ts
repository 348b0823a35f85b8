import { requireItems, requireText, toItems, toNumber, toRecord, toText } from "../../api/parse.ts";
import { parseJudge, toJudgeBody } from "../models/judge-draft.ts";
import type { JudgeDraft } from "../models/judge-draft.ts";
import { parseTimeMs } from "../../components/time/time.ts";

export const actionKinds = ["queue", "dataset", "webhook", "judge"] as const;

export type ActionKind = (typeof actionKinds)[number];

/** The kinds of actions that have a target with an id: a queue, a dataset or a webhook. */
export type TargetKind = Exclude<ActionKind, "judge">;

/** What a rule does with a run: adds it to a queue or a dataset, sends it to a webhook, or lets a model judge it. */
export type RuleAction =
  | { readonly kind: TargetKind; readonly targetId: string }
  | { readonly kind: "judge"; readonly judge: JudgeDraft };

export interface Rule {
  readonly id: string;
  readonly name: string;
  /** Empty to match all traces. */
  readonly filter: string;
  /** The fraction of the matching traces to which the rule is applied, from 0 to 1. */
  readonly samplingRate: number;
  /** `undefined` for an action that this version of the UI does not support. */
  readonly action: RuleAction | undefined;
  readonly isEnabled: boolean;
  /** Why the server has disabled the rule. */
  readonly pausedReason: string | undefined;
  /** The numbers of traces that the rule has matched, to which it has been applied, and for which its action failed. */
  readonly matched: number;
  readonly applied: number;
  readonly failed: number;
  readonly errors: readonly {
    readonly runId: string;
    readonly atMs: number;
    readonly reason: string;
    /** When the server tries the action again; `undefined` if it does not. */
    readonly nextMs: number | undefined;
  }[];
  /** The progress of applying the rule to past traces, from 0 to 1; `undefined` while it is not applied to them. */
  readonly pastProgress: number | undefined;
}

export interface RuleDraft {
  readonly name: string;
  readonly filter: string;
  readonly samplingPercent: number;
  readonly action: RuleAction;
}

/** @throws TypeError the value is not a list of rules. */
export const parseRules = (value: unknown): readonly Rule[] =>
  requireItems(value, "rules").map((item) => {
    const members = toRecord(item);
    return {
      id: requireText(members, "id"),
      name: requireText(members, "name"),
      filter: toText(members["filter"]) ?? "",
      samplingRate: toNumber(members["sampling_rate"]) ?? 1,
      action: parseAction(members["action"]),
      isEnabled: members["is_enabled"] === true,
      pausedReason: toText(members["paused_reason"]),
      matched: toNumber(members["matched"]) ?? 0,
      applied: toNumber(members["applied"]) ?? 0,
      failed: toNumber(members["failed"]) ?? 0,
      errors: toItems(members["last_errors"])
        .map(toRecord)
        .map((error) => ({
          runId: toText(error["run_id"]) ?? "",
          atMs: parseTimeMs(error["at"]) ?? 0,
          reason: toText(error["reason"]) ?? "",
          nextMs: parseTimeMs(error["next_attempt_at"]),
        })),
      pastProgress: parsePastProgress(members["past"]),
    };
  });

function parseAction(value: unknown): RuleAction | undefined {
  const members = toRecord(value);
  const kind = actionKinds.find((known) => known === members["kind"]);
  if (kind === "judge") {
    const judge = parseJudge(members);
    return judge && { kind, judge };
  }
  const targetId = kind && toText(members[`${kind}_id`]);
  return kind === undefined || targetId === undefined ? undefined : { kind, targetId };
}

function parsePastProgress(value: unknown): number | undefined {
  const { from, to, position } = toRecord(value);
  const [fromMs, toMs, positionMs] = [from, to, position].map(parseTimeMs);
  return fromMs === undefined || toMs === undefined || positionMs === undefined
    ? undefined
    : Math.min(1, Math.max(0, (positionMs - fromMs) / (toMs - fromMs)));
}

/** Converts a draft to the body of the request that creates or changes the rule. */
export const toRuleBody = ({ name, filter, samplingPercent, action }: RuleDraft) => ({
  name: name.trim(),
  filter,
  sampling_rate: samplingPercent / 100,
  action:
    action.kind === "judge"
      ? { kind: action.kind, ...toJudgeBody(action.judge) }
      : { kind: action.kind, [`${action.kind}_id`]: action.targetId },
});

/**
 * Describes what a rule has done, such as `12 matched, 9 applied, 1 waiting, 2 failed`. If the rule is applied to a
 * sample, the server counts only the traces of the sample.
 */
export const describeCounts = ({
  matched,
  applied,
  failed,
  samplingRate,
}: Pick<Rule, "matched" | "applied" | "failed" | "samplingRate">): string => {
  const waiting = matched - applied - failed;
  return [
    samplingRate < 1 ? `${matched} sampled` : `${matched} matched`,
    `${applied} applied`,
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ].join(", ");
};

import { NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { omitUndefined } from "../../api/parse.ts";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";
import { fieldHint, useFieldFaults } from "../../components/dialog/field-fault.ts";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatTime } from "../../components/time/time.ts";
import { createRunJudgeDraft, findJudgeFaults } from "../models/judge-draft.ts";
import { modelEndpointsQuery } from "../models/model-endpoints.ts";
import { createRunCountsQuery } from "../runs/queries.ts";
import { useFilterField } from "./filter-field.tsx";
import { JudgeAction } from "./judge-action.tsx";
import { createTargetsQuery, saveRule, webhooksQuery } from "./queries.ts";
import { actionKinds } from "./rule.ts";
import type { ActionKind, Rule, RuleAction, RuleDraft, TargetKind } from "./rule.ts";

const actionLabels: { readonly [Kind in ActionKind]: string } = {
  queue: "Add to annotation queue",
  dataset: "Add to dataset",
  webhook: "Send to webhook",
  judge: "Let a model judge the run",
};

const targetLabels: { readonly [Kind in TargetKind]: string } = {
  queue: "Annotation queue",
  dataset: "Dataset",
  webhook: "Webhook",
};

const minPercent = 0.01;

/** Parses the entered percentage; `undefined` if a rule can't have it. */
function parsePercent(entry: number | string): number | undefined {
  const percent = entry === "" ? Number.NaN : Number(entry);
  return percent >= minPercent && percent <= 100 ? percent : undefined;
}

/** Creates a rule, or edits an existing one. */
export const RuleForm = ({
  projectId,
  rule,
  filter: initialFilter,
  onClose,
}: {
  readonly projectId: string;
  /** The rule to edit; absent to create one. */
  readonly rule?: Rule;
  /** The filter of a new rule. */
  readonly filter?: string | undefined;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const [draft, setDraft] = useState<Pick<RuleDraft, "name" | "filter">>({
    name: rule?.name ?? "",
    filter: rule?.filter ?? initialFilter ?? "",
  });
  // Keep an invalid entry as it is. If the form corrected it, the rule could have a higher percentage than the user
  // wants, and pay for more model calls.
  const [percentEntry, setPercentEntry] = useState<number | string>(
    Number(((rule?.samplingRate ?? 1) * 100).toPrecision(12)),
  );
  const samplingPercent = parsePercent(percentEntry);
  const change = (changes: Partial<typeof draft>): void => setDraft({ ...draft, ...changes });
  const { faults, submit } = useFieldFaults(["name", "filter", "sampling_rate", ...actionPaths]);
  const { field: filterField, assertApplied } = useFilterField({
    projectId,
    description:
      "The root run of each trace is checked when it has ended. Leave the filter empty to match all traces.",
    fault: faults.filter,
    value: draft.filter,
    onChange: (filter) => change({ filter }),
  });
  const [areFaultsShown, setAreFaultsShown] = useState(false);
  const { kind, action, hasFaults, fields, changeKind } = useActionFields(rule?.action, {
    faults,
    areFaultsShown,
  });
  return (
    <DialogForm
      title={rule === undefined ? "New rule" : "Edit rule"}
      action={rule === undefined ? "Create rule" : "Save"}
      isDisabled={draft.name.trim() === "" || action === undefined}
      onClose={onClose}
      onSubmit={async () => {
        setAreFaultsShown(true);
        assertApplied();
        if (action === undefined || hasFaults || samplingPercent === undefined) {
          throw new Error(fieldHint);
        }
        await submit(async () =>
          saveRule(projectId, rule?.id, { ...draft, samplingPercent, action }),
        );
        await queryClient.invalidateQueries({ queryKey: ["rules", projectId] });
      }}
    >
      <TextInput
        label="Name"
        required
        maxLength={200}
        error={faults.name}
        value={draft.name}
        onChange={({ currentTarget }) => change({ name: currentTarget.value })}
      />
      {filterField}
      <MatchPreview projectId={projectId} filter={draft.filter} percent={samplingPercent ?? 100} />
      <NumberInput
        label="Sampling (%)"
        description="The percentage of the matching traces to which the rule is applied. A given trace is always included or always left out."
        min={minPercent}
        max={100}
        clampBehavior="none"
        error={
          samplingPercent === undefined
            ? `Enter a percentage from ${minPercent} to 100.`
            : faults.sampling_rate
        }
        value={percentEntry}
        onChange={setPercentEntry}
      />
      <NativeSelect
        label="Action"
        value={kind}
        onChange={({ currentTarget }) =>
          changeKind(actionKinds.find((name) => name === currentTarget.value) ?? "queue")
        }
        data={actionKinds.map((name) => ({ value: name, label: actionLabels[name] }))}
      />
      {fields}
    </DialogForm>
  );
};

/** The fields of an action for which the server may report an error. */
const actionPaths = ["action", "action.template"] as const;

/** Returns the form fields of an action, and the entered action, which is `undefined` until it is complete. */
function useActionFields(
  initialAction: RuleAction | undefined,
  {
    faults,
    areFaultsShown,
  }: {
    /** Error messages of the server about the action. */
    readonly faults: { readonly [Path in (typeof actionPaths)[number]]?: string };
    /** Whether to show errors in the entered values. They are hidden until the user submits the form. */
    readonly areFaultsShown: boolean;
  },
) {
  const [kind, setKind] = useState<ActionKind>(initialAction?.kind ?? "queue");
  const [chosenId, setChosenId] = useState(
    initialAction === undefined || initialAction.kind === "judge" ? "" : initialAction.targetId,
  );
  const [judge, setJudge] = useState(
    initialAction?.kind === "judge" ? initialAction.judge : createRunJudgeDraft(""),
  );
  const targetKind = kind === "judge" ? undefined : kind;
  const targets = useActionTargets(targetKind);
  const models = useQuery({ ...modelEndpointsQuery, enabled: kind === "judge" });
  const changeKind = (newKind: ActionKind): void => {
    setKind(newKind);
    setChosenId("");
  };
  if (targetKind === undefined) {
    const [endpoint] = models.data?.endpoints ?? [];
    const enteredJudge =
      judge.endpoint === "" ? { ...judge, endpoint: endpoint?.name ?? "" } : judge;
    const judgeFaults = findJudgeFaults(enteredJudge);
    const isReady = endpoint !== undefined && models.data?.needsToken === false;
    return {
      kind,
      changeKind,
      action: isReady ? ({ kind: "judge", judge: enteredJudge } as const) : undefined,
      hasFaults: Object.keys(judgeFaults).length > 0,
      fields: (
        <JudgeAction
          models={models.data}
          error={models.error}
          judge={enteredJudge}
          faults={{
            ...omitUndefined({ endpoint: faults.action, template: faults["action.template"] }),
            ...(areFaultsShown && judgeFaults),
          }}
          onChange={setJudge}
        />
      ),
    };
  }
  const targetId = chosenId === "" ? (targets?.[0]?.id ?? "") : chosenId;
  return {
    kind,
    changeKind,
    action: targetId === "" ? undefined : ({ kind: targetKind, targetId } as const),
    hasFaults: false,
    fields: (
      <NativeSelect
        label={targetLabels[targetKind]}
        value={targetId}
        error={faults.action}
        disabled={targets === undefined || targets.length === 0}
        description={
          targets?.length === 0
            ? `There is no ${targetLabels[targetKind].toLowerCase()} yet. Create one first.`
            : undefined
        }
        onChange={({ currentTarget }) => setChosenId(currentTarget.value)}
        data={(targets ?? []).map(({ id, name }) => ({ value: id, label: toVisibleText(name) }))}
      />
    ),
  };
}

function useActionTargets(
  kind: TargetKind | undefined,
): readonly { readonly id: string; readonly name: string }[] | undefined {
  const webhooks = useQuery({ ...webhooksQuery, enabled: kind === "webhook" });
  const targets = useQuery({
    ...createTargetsQuery(kind === "dataset" ? "dataset" : "queue"),
    enabled: kind === "queue" || kind === "dataset",
  });
  return kind === "webhook" ? webhooks.data : targets.data;
}

const dayMs = 86_400_000;

/** The number of traces of the last 24 hours that match the filter, and about how many of them would be sampled. */
const MatchPreview = ({
  projectId,
  filter,
  percent,
}: {
  readonly projectId: string;
  readonly filter: string;
  readonly percent: number;
}) => {
  const [fromMs] = useState(() => Date.now() - dayMs);
  const { data, error } = useQuery(
    createRunCountsQuery({ projectId, isRootOnly: true, filter, range: { fromMs } }),
  );
  if (error !== null) {
    return <output className="quiet">The matching traces could not be counted.</output>;
  }
  if (data === undefined) {
    return <output className="quiet">Counting matching traces …</output>;
  }
  const { total, countedFromMs } = data;
  const sampledText = percent < 100 ? `, about ${Math.round((total * percent) / 100)} sampled` : "";
  const timeText =
    countedFromMs === undefined
      ? "of the last 24 h"
      : `since ${formatTime(countedFromMs).slice(0, 16)}; older traces are not counted`;
  return (
    <output className="quiet">
      Matches {pluralize(total, "trace")} {timeText}
      {sampledText}
    </output>
  );
};

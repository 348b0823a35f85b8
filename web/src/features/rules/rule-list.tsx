import { Button, NativeSelect } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toPlainFilter } from "../../components/filter/plain-filter.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatTime } from "../../components/time/time.ts";
import { Ago } from "../../components/time/ago.tsx";
import { AutomationCard } from "./automation-card.tsx";
import {
  applyRule,
  createRulesQuery,
  createTargetsQuery,
  deleteRule,
  enableRule,
  retryRule,
  webhooksQuery,
} from "./queries.ts";
import { describeCounts } from "./rule.ts";
import type { Rule, RuleAction } from "./rule.ts";
import { RuleForm } from "./rule-form.tsx";

type OpenDialog = { readonly kind: "edit" | "apply" | "delete"; readonly rule: Rule };

export const RuleList = ({
  projectId,
  tenantId,
}: {
  readonly projectId: string;
  readonly tenantId: string;
}) => {
  const { data: rules, error, refetch } = useQuery(createRulesQuery(projectId));
  const [dialog, setDialog] = useState<OpenDialog>();
  const close = (): void => setDialog(undefined);
  if (rules === undefined) {
    return error === null ? (
      <Loading resourceName="rules" />
    ) : (
      <Failure resourceName="the rules" error={error} onRetry={refetch} />
    );
  }
  return (
    <>
      {rules.length === 0 ? (
        <Empty title="No rules yet">
          <p>
            When a trace that matches a filter has ended, a rule adds it to an annotation queue or a
            dataset, sends it to a webhook, or lets a model judge it.
          </p>
        </Empty>
      ) : (
        <ul className="automation-list" aria-label="Rules">
          {rules.map((rule) => (
            <RuleCard key={rule.id} rule={rule} tenantId={tenantId} onDialog={setDialog} />
          ))}
        </ul>
      )}
      {dialog?.kind === "edit" && (
        <RuleForm projectId={projectId} rule={dialog.rule} onClose={close} />
      )}
      {dialog?.kind === "apply" && <ApplyForm rule={dialog.rule} onClose={close} />}
      {dialog?.kind === "delete" && <DeleteRule rule={dialog.rule} onClose={close} />}
    </>
  );
};

const RuleCard = ({
  rule,
  tenantId,
  onDialog,
}: {
  readonly rule: Rule;
  readonly tenantId: string;
  readonly onDialog: (dialog: OpenDialog) => void;
}) => {
  const change = useRuleChange();
  const { id, isEnabled, pastProgress, failed, errors, pausedReason } = rule;
  return (
    <AutomationCard
      name={rule.name}
      isEnabled={isEnabled}
      onToggle={() => change(async () => enableRule(id, !isEnabled))}
      actions={[
        { label: "Edit", onClick: () => onDialog({ kind: "edit", rule }) },
        ...(isEnabled && pastProgress === undefined
          ? [{ label: "Apply to past traces", onClick: () => onDialog({ kind: "apply", rule }) }]
          : []),
        {
          label: "Delete",
          onClick: () => onDialog({ kind: "delete", rule }),
          isDestructive: true,
        },
      ]}
    >
      <p>
        {rule.filter === "" ? (
          "All traces"
        ) : (
          <>
            Traces with <code>{toVisibleText(toPlainFilter(rule.filter))}</code>
          </>
        )}
        {rule.samplingRate < 1 && ` (${formatPercent(rule.samplingRate)} of them)`}
        {" → "}
        <ActionTarget action={rule.action} tenantId={tenantId} />
      </p>
      <p className="quiet">{describeCounts(rule)}</p>
      {pausedReason !== undefined && (
        <p className="automation-problem">Paused. {toVisibleText(pausedReason)}</p>
      )}
      {pastProgress !== undefined && (
        <p>
          <output>Applying to past traces: {formatPercent(pastProgress)}</output>{" "}
          <ActionButton
            label="Cancel"
            onClick={async () => change(async () => applyRule(id, undefined))}
          />
        </p>
      )}
      {errors.length > 0 && (
        <details className="automation-errors">
          <summary>Last errors</summary>
          <ul>
            {errors.map(({ runId, atMs, reason, nextMs }) => (
              <li key={runId}>
                <Ago timeMs={atMs} />: {toVisibleText(reason)} <code>{runId}</code>
                {nextMs !== undefined && ` (next attempt at ${formatTime(nextMs).slice(0, 19)})`}
              </li>
            ))}
          </ul>
          {failed > 0 && (
            <ActionButton
              label="Retry where it failed"
              onClick={async () => change(async () => retryRule(id))}
            />
          )}
        </details>
      )}
    </AutomationCard>
  );
};

const formatPercent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;

/** A button of a card. If its action fails, the error is shown next to it. */
const ActionButton = ({
  label,
  onClick,
}: {
  readonly label: string;
  readonly onClick: () => Promise<unknown>;
}) => {
  const action = useMutation({ mutationFn: onClick });
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        loading={action.isPending}
        onClick={() => action.mutate()}
      >
        {label}
      </Button>
      <FormError error={action.error?.message} />
    </>
  );
};

/** The queue, dataset or webhook to which a rule adds runs, or the model that judges them. */
const ActionTarget = ({
  action,
  tenantId,
}: {
  readonly action: RuleAction | undefined;
  readonly tenantId: string;
}) => {
  const kind = action?.kind;
  const webhooks = useQuery({ ...webhooksQuery, enabled: kind === "webhook" });
  const targets = useQuery({
    ...createTargetsQuery(kind === "dataset" ? "dataset" : "queue"),
    enabled: kind === "queue" || kind === "dataset",
  });
  if (action === undefined) {
    return "an action that this version of the UI does not support";
  }
  if (action.kind === "judge") {
    const { key, model, endpoint } = action.judge;
    return (
      <>
        judge <bdi>{toVisibleText(key)}</bdi> ({toVisibleText(`${model} at ${endpoint}`)})
      </>
    );
  }
  const target = (kind === "webhook" ? webhooks.data : targets.data)?.find(
    ({ id }) => id === action.targetId,
  );
  const name = toVisibleText(target?.name ?? action.targetId);
  if (action.kind === "queue") {
    return (
      <Link
        to="/o/$tenantId/annotation-queues/$queueId"
        params={{ tenantId, queueId: action.targetId }}
        search={{}}
      >
        queue {name}
      </Link>
    );
  }
  return action.kind === "dataset" ? (
    <Link
      to="/o/$tenantId/datasets/$datasetId"
      params={{ tenantId, datasetId: action.targetId }}
      search={{}}
    >
      dataset {name}
    </Link>
  ) : (
    <Link to="/o/$tenantId/rules" params={{ tenantId }} search={{ tab: "webhooks" }}>
      webhook {name}
    </Link>
  );
};

/** The numbers of past days that the form offers. */
const pastDays = [1, 7, 30, 90] as const;

const ApplyForm = ({ rule, onClose }: { readonly rule: Rule; readonly onClose: () => void }) => {
  const [days, setDays] = useState(1);
  const change = useRuleChange();
  return (
    <DialogForm
      title="Apply to past traces"
      action="Apply"
      onClose={onClose}
      onSubmit={async () => change(async () => applyRule(rule.id, days))}
    >
      <p>
        The rule is applied to traces that began in this time range. Traces to which it was already
        applied are left out.
      </p>
      <NativeSelect
        label="Time range"
        value={days}
        onChange={({ currentTarget }) => setDays(Number(currentTarget.value))}
        data={pastDays.map((count) => ({
          value: String(count),
          label: count === 1 ? "Last 24 hours" : `Last ${count} days`,
        }))}
      />
    </DialogForm>
  );
};

const DeleteRule = ({ rule, onClose }: { readonly rule: Rule; readonly onClose: () => void }) => {
  const change = useRuleChange();
  return (
    <Confirm
      title={`Delete ${toVisibleText(rule.name)}?`}
      action="Delete rule"
      onClose={onClose}
      onConfirm={async () => change(async () => deleteRule(rule.id))}
    >
      <p>
        Runs that the rule has added to queues and datasets stay there. Its feedback is also kept.
      </p>
    </Confirm>
  );
};

/** Returns a function that makes a change, and then reads the rules again. */
function useRuleChange(): (change: () => Promise<unknown>) => Promise<void> {
  const queryClient = useQueryClient();
  return async (change) => {
    await change();
    await queryClient.invalidateQueries({ queryKey: ["rules"] });
  };
}

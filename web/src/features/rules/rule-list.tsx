import { Button, NativeSelect } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
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

/** The rules of a project. */
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
            A rule adds traces that match a filter to an annotation queue or a dataset, or sends
            them to a webhook, once they have ended.
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
          ? [{ label: "Apply to past runs", onClick: () => onDialog({ kind: "apply", rule }) }]
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
            Traces with <code>{toVisibleText(rule.filter)}</code>
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
          <output>Applying to past runs: {formatPercent(pastProgress)}</output>{" "}
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => void change(async () => applyRule(id, undefined))}
          >
            Cancel
          </Button>
        </p>
      )}
      {errors.length > 0 && (
        <details className="automation-errors">
          <summary>Last errors</summary>
          <ul>
            {errors.map(({ runId, atMs, reason }) => (
              <li key={runId}>
                <Ago timeMs={atMs} />: {toVisibleText(reason)} <code>{runId}</code>
              </li>
            ))}
          </ul>
          {failed > 0 && (
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => void change(async () => retryRule(id))}
            >
              Retry failed runs
            </Button>
          )}
        </details>
      )}
    </AutomationCard>
  );
};

const formatPercent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;

/** The queue, dataset or webhook to which a rule adds runs. */
const ActionTarget = ({
  action,
  tenantId,
}: {
  readonly action: RuleAction | undefined;
  readonly tenantId: string;
}) => {
  const kind = action?.kind ?? "webhook";
  const webhooks = useQuery({ ...webhooksQuery, enabled: kind === "webhook" });
  const targets = useQuery({
    ...createTargetsQuery(kind === "dataset" ? "dataset" : "queue"),
    enabled: kind !== "webhook",
  });
  if (action === undefined) {
    return "an action that this page does not know";
  }
  const found = (kind === "webhook" ? webhooks.data : targets.data)?.find(
    ({ id }) => id === action.targetId,
  );
  const name = toVisibleText(found?.name ?? action.targetId);
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

/** The days of past runs to which a rule can be applied. */
const pastDays = [1, 7, 30, 90] as const;

const ApplyForm = ({ rule, onClose }: { readonly rule: Rule; readonly onClose: () => void }) => {
  const [days, setDays] = useState(1);
  const change = useRuleChange();
  return (
    <DialogForm
      title="Apply to past runs"
      action="Apply"
      onClose={onClose}
      onSubmit={async () => change(async () => applyRule(rule.id, days))}
    >
      <p>
        The rule is applied to traces that began in this time. Those to which it was already applied
        are left out.
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
      <p>Runs that it has added to queues and datasets stay there.</p>
    </Confirm>
  );
};

/** Makes a change, and then reads the rules again. */
function useRuleChange(): (change: () => Promise<unknown>) => Promise<void> {
  const queryClient = useQueryClient();
  return async (change) => {
    await change();
    await queryClient.invalidateQueries({ queryKey: ["rules"] });
  };
}

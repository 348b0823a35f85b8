import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import {
  alertStateLabels,
  describeAlert,
  describeFirstEvaluation,
  figures,
  toAlertRuns,
} from "./alert.ts";
import type { Alert } from "./alert.ts";
import { AlertForm } from "./alert-form.tsx";
import { AutomationCard } from "./automation-card.tsx";
import {
  createAlertHistoryQuery,
  createAlertsQuery,
  deleteAlert,
  enableAlert,
  webhooksQuery,
} from "./queries.ts";

type OpenDialog = { readonly kind: "edit" | "history" | "delete"; readonly alert: Alert };

/** The alerts of a project, with their states. */
export const AlertList = ({
  projectId,
  tenantId,
}: {
  readonly projectId: string;
  readonly tenantId: string;
}) => {
  const { data: alerts, error, refetch } = useQuery(createAlertsQuery(projectId));
  const [dialog, setDialog] = useState<OpenDialog>();
  const change = useAlertChange();
  const close = (): void => setDialog(undefined);
  if (alerts === undefined) {
    return error === null ? (
      <Loading resourceName="alerts" />
    ) : (
      <Failure resourceName="the alerts" error={error} onRetry={refetch} />
    );
  }
  return (
    <>
      {alerts.length === 0 ? (
        <Empty title="No alerts yet">
          <p>
            An alert watches a metric of the dashboard, such as the error rate, and notifies a
            webhook when the metric crosses a threshold.
          </p>
        </Empty>
      ) : (
        <ul className="automation-list" aria-label="Alerts">
          {alerts.map((alert) => (
            <AlertCard
              key={alert.id}
              alert={alert}
              address={{ tenantId, projectId }}
              onDialog={setDialog}
            />
          ))}
        </ul>
      )}
      {dialog?.kind === "edit" && (
        <AlertForm projectId={projectId} alert={dialog.alert} onClose={close} />
      )}
      {dialog?.kind === "history" && <AlertHistory alert={dialog.alert} onClose={close} />}
      {dialog?.kind === "delete" && (
        <Confirm
          title={`Delete ${toVisibleText(dialog.alert.name)}?`}
          action="Delete alert"
          onClose={close}
          onConfirm={async () => change(async () => deleteAlert(dialog.alert.id))}
        >
          <p>Its history will also be deleted.</p>
        </Confirm>
      )}
    </>
  );
};

const AlertCard = ({
  alert,
  address,
  onDialog,
}: {
  readonly alert: Alert;
  readonly address: { readonly tenantId: string; readonly projectId: string };
  readonly onDialog: (dialog: OpenDialog) => void;
}) => {
  const change = useAlertChange();
  const { data: webhooks } = useQuery(webhooksQuery);
  const { id, isEnabled, webhookId, problem, changedMs } = alert;
  const runs = toAlertRuns(alert);
  const webhook = webhooks?.find((candidate) => candidate.id === webhookId);
  return (
    <AutomationCard
      name={alert.name}
      mark={<StateMark state={toShownState(alert)} />}
      isEnabled={isEnabled}
      onToggle={async () => change(async () => enableAlert(id, !isEnabled))}
      actions={[
        { label: "Edit", onClick: () => onDialog({ kind: "edit", alert }) },
        { label: "History", onClick: () => onDialog({ kind: "history", alert }) },
        {
          label: "Delete",
          onClick: () => onDialog({ kind: "delete", alert }),
          isDestructive: true,
        },
      ]}
    >
      <p>
        {toVisibleText(describeAlert(alert))}
        {webhookId !== undefined && ` → webhook ${toVisibleText(webhook?.name ?? webhookId)}`}
      </p>
      <p className="quiet">
        {describeValue(alert)}
        {changedMs !== undefined && (
          <>
            {" · "}
            {alertStateLabels[alert.state]} since <Ago timeMs={changedMs} />
          </>
        )}
        {runs !== undefined && (
          <>
            {" · "}
            <Link to="/o/$tenantId/projects/p/$projectId" params={address} search={runs}>
              Show runs
            </Link>
          </>
        )}
      </p>
      {problem !== undefined && <p className="automation-problem">{toVisibleText(problem)}</p>}
    </AutomationCard>
  );
};

const shownStateLabels = {
  ...alertStateLabels,
  new: "Not evaluated yet",
  disabled: "Disabled",
} as const;

type ShownState = keyof typeof shownStateLabels;

function toShownState({ isEnabled, evaluatedMs, state }: Alert): ShownState {
  if (!isEnabled) {
    return "disabled";
  }
  return evaluatedMs === undefined ? "new" : state;
}

function describeValue(alert: Alert): string {
  const { isEnabled, evaluatedMs, value, figure } = alert;
  if (evaluatedMs === undefined) {
    return isEnabled ? describeFirstEvaluation(alert, Date.now()) : "Not evaluated yet";
  }
  return value === undefined ? "No value" : `Now ${figures[figure].format(value)}`;
}

const StateMark = ({ state }: { readonly state: ShownState }) => (
  <span className="alert-state" data-state={state}>
    {shownStateLabels[state]}
  </span>
);

const AlertHistory = ({
  alert,
  onClose,
}: {
  readonly alert: Alert;
  readonly onClose: () => void;
}) => {
  const { data: events, error, refetch } = useQuery(createAlertHistoryQuery(alert.id));
  const { format } = figures[alert.figure];
  return (
    <Dialog title={`History of ${toVisibleText(alert.name)}`} onClose={onClose}>
      {events === undefined && error === null && <Loading resourceName="the history" />}
      {events === undefined && error !== null && (
        <Failure resourceName="the history" error={error} onRetry={refetch} />
      )}
      {events?.length === 0 && <p>No changes yet. Alerts are evaluated once a minute.</p>}
      {events !== undefined && events.length > 0 && (
        <ol className="alert-history">
          {events.map(({ atMs, state, value }) => (
            <li key={atMs}>
              <StateMark state={state} />
              <span>{value === undefined ? "–" : format(value)}</span>
              <Ago timeMs={atMs} />
            </li>
          ))}
        </ol>
      )}
    </Dialog>
  );
};

/** Returns a function that makes a change, and then reads the alerts again. */
function useAlertChange(): (change: () => Promise<unknown>) => Promise<void> {
  const queryClient = useQueryClient();
  return async (change) => {
    await change();
    await queryClient.invalidateQueries({ queryKey: ["alerts"] });
  };
}

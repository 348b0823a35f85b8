import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatTime } from "../../components/time/time.ts";
import { AutomationCard } from "./automation-card.tsx";
import { Deliveries } from "./deliveries.tsx";
import { deleteWebhook, testWebhook, updateWebhook, webhooksQuery } from "./queries.ts";
import type { TestResult } from "./queries.ts";
import type { Webhook } from "./webhook.ts";
import { ChangeSecret } from "./webhook-secret.tsx";
import { WebhookForm } from "./webhook-form.tsx";

type OpenDialog = {
  readonly kind: "edit" | "secret" | "delete" | "deliveries";
  readonly webhook: Webhook;
};

/** The webhooks of the tenant, each with how many of its deliveries arrived, wait or failed. */
export const WebhookList = () => {
  const { data: webhooks, error, refetch } = useQuery(webhooksQuery);
  const [dialog, setDialog] = useState<OpenDialog>();
  const queryClient = useQueryClient();
  const close = (): void => setDialog(undefined);
  if (webhooks === undefined) {
    return error === null ? (
      <Loading resourceName="webhooks" />
    ) : (
      <Failure resourceName="the webhooks" error={error} onRetry={refetch} />
    );
  }
  return (
    <>
      {webhooks.length === 0 ? (
        <Empty title="No webhooks yet">
          <p>A webhook is a URL to which the server sends signed events of rules and alerts.</p>
        </Empty>
      ) : (
        <ul className="automation-list" aria-label="Webhooks">
          {webhooks.map((webhook) => (
            // The key contains the URL, so that a change of the URL discards the test result of the old URL.
            <WebhookCard
              key={`${webhook.id} ${webhook.url}`}
              webhook={webhook}
              onDialog={setDialog}
            />
          ))}
        </ul>
      )}
      {dialog?.kind === "edit" && <WebhookForm webhook={dialog.webhook} onClose={close} />}
      {dialog?.kind === "secret" && <ChangeSecret webhook={dialog.webhook} onClose={close} />}
      {dialog?.kind === "deliveries" && <Deliveries webhook={dialog.webhook} onClose={close} />}
      {dialog?.kind === "delete" && (
        <Confirm
          title={`Delete ${toVisibleText(dialog.webhook.name)}?`}
          action="Delete webhook"
          onClose={close}
          onConfirm={async () => {
            await deleteWebhook(dialog.webhook.id);
            await queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });
          }}
        >
          <p>
            The records of its deliveries will be deleted, too. Rules and alerts that use it will
            report errors.
          </p>
        </Confirm>
      )}
    </>
  );
};

const WebhookCard = ({
  webhook,
  onDialog,
}: {
  readonly webhook: Webhook;
  readonly onDialog: (dialog: OpenDialog) => void;
}) => {
  const queryClient = useQueryClient();
  const test = useMutation({ mutationFn: async () => testWebhook(webhook.id) });
  const { id, isEnabled, delivered, waiting, dead, lastDeliveredMs, previousSecretUntilMs } =
    webhook;
  return (
    <AutomationCard
      name={webhook.name}
      isEnabled={isEnabled}
      onToggle={async () => {
        await updateWebhook(id, { is_enabled: !isEnabled });
        await queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });
      }}
      actions={[
        { label: "Edit", onClick: () => onDialog({ kind: "edit", webhook }) },
        { label: "Change secret", onClick: () => onDialog({ kind: "secret", webhook }) },
        {
          label: "Delete",
          onClick: () => onDialog({ kind: "delete", webhook }),
          isDestructive: true,
        },
      ]}
    >
      <p>
        <code className="webhook-url">{toVisibleText(webhook.url)}</code>
      </p>
      <p className="quiet">
        {delivered.toLocaleString("en")} delivered, {waiting.toLocaleString("en")} waiting,{" "}
        <span className={dead > 0 ? "bad" : undefined}>{dead.toLocaleString("en")} failed</span>
        {lastDeliveredMs !== undefined && (
          <>
            {" · last delivery "}
            <Ago timeMs={lastDeliveredMs} />
          </>
        )}
      </p>
      {previousSecretUntilMs !== undefined && (
        <p className="quiet">
          The old secret is valid until{" "}
          <time dateTime={new Date(previousSecretUntilMs).toISOString()}>
            {formatTime(previousSecretUntilMs)}
          </time>
        </p>
      )}
      <div className="automation-actions">
        <Button
          size="compact-xs"
          variant="default"
          loading={test.isPending}
          onClick={() => test.mutate()}
        >
          Send a test
        </Button>
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Deliveries of ${toVisibleText(webhook.name)}`}
          onClick={() => onDialog({ kind: "deliveries", webhook })}
        >
          Deliveries
        </Button>
        {test.data !== undefined && <TestOutcome result={test.data} />}
        {test.error !== null && <span className="bad">{test.error.message}</span>}
      </div>
    </AutomationCard>
  );
};

const TestOutcome = ({ result: { status, error } }: { readonly result: TestResult }) => (
  <output className={error === undefined ? "webhook-accepted" : "bad"}>
    {error === undefined ? `Accepted with status ${status ?? ""}` : toVisibleText(error)}
  </output>
);

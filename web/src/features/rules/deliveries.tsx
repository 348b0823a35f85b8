import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatTime } from "../../components/time/time.ts";
import { createDeliveriesQuery, resendDeliveries } from "./queries.ts";
import { deliveryStates } from "./webhook.ts";
import type { Delivery, Webhook } from "./webhook.ts";

/** The latest deliveries of a webhook. A failed delivery, which the server does not retry, can be sent again. */
export const Deliveries = ({
  webhook,
  onClose,
}: {
  readonly webhook: Webhook;
  readonly onClose: () => void;
}) => {
  const { data: deliveries, error, refetch } = useQuery(createDeliveriesQuery(webhook.id));
  const queryClient = useQueryClient();
  const resend = useMutation({
    mutationFn: async (ids: readonly string[] | undefined) => resendDeliveries(webhook.id, ids),
    onSuccess: async () => queryClient.invalidateQueries({ queryKey: ["webhooks"] }),
  });
  const deadCount = deliveries?.filter(({ state }) => state === "dead").length ?? 0;
  return (
    <Dialog title={`Deliveries of ${toVisibleText(webhook.name)}`} width={680} onClose={onClose}>
      {deliveries === undefined && error === null && <Loading resourceName="deliveries" />}
      {deliveries === undefined && error !== null && (
        <Failure resourceName="the deliveries" error={error} onRetry={refetch} />
      )}
      {deliveries?.length === 0 && <p>No events have been sent yet.</p>}
      {deliveries !== undefined && deliveries.length > 0 && (
        <ul className="deliveries" aria-label="Deliveries">
          {deliveries.map((delivery) => (
            <DeliveryRow
              key={delivery.id}
              delivery={delivery}
              onResend={() => resend.mutate([delivery.id])}
            />
          ))}
        </ul>
      )}
      {resend.error !== null && <p className="bad">{resend.error.message}</p>}
      <div className="dialog-end">
        {deadCount > 0 && (
          <Button
            variant="default"
            loading={resend.isPending}
            onClick={() => resend.mutate(undefined)}
          >
            Send all failed deliveries again
          </Button>
        )}
        <Button onClick={onClose}>Done</Button>
      </div>
    </Dialog>
  );
};

const DeliveryRow = ({
  delivery: { id, event, state, attempts, createdMs, nextMs, lastError },
  onResend,
}: {
  readonly delivery: Delivery;
  readonly onResend: () => void;
}) => (
  <li>
    <div className="delivery-head">
      <code>{toVisibleText(event)}</code>
      <span className={state === "dead" ? "bad" : undefined}>{deliveryStates[state]}</span>
      <Ago timeMs={createdMs} />
      {state === "dead" && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Send again: delivery ${id}`}
          onClick={onResend}
        >
          Send again
        </Button>
      )}
    </div>
    {lastError !== undefined && (
      <p className="quiet">
        {toVisibleText(lastError)} ({attempts} {attempts === 1 ? "attempt" : "attempts"})
        {nextMs !== undefined && ` Next attempt at ${formatTime(nextMs).slice(0, 19)}.`}
      </p>
    )}
  </li>
);

import { Button, Select } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { CopyText } from "../../components/code/copy-text.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { changeWebhookSecret, webhooksQuery } from "./queries.ts";
import type { Webhook } from "./webhook.ts";

/** Shows a new secret. It can't be shown again. */
export const NewSecret = ({
  title,
  secret,
  onClose,
}: {
  readonly title: string;
  readonly secret: string;
  readonly onClose: () => void;
}) => (
  <Dialog title={title} onClose={onClose}>
    <p>
      Copy the secret now. It will not be shown again. With the secret, the receiver can check that
      an event comes from this server.
    </p>
    <CopyText label="Secret" text={secret} />
    <div className="dialog-end">
      <Button onClick={onClose}>Done</Button>
    </div>
  </Dialog>
);

/** The hours for which deliveries are also signed with the old secret. */
const overlapChoices = [
  { value: "1", label: "1 hour" },
  { value: "24", label: "24 hours" },
  { value: "168", label: "7 days" },
  { value: "0", label: "No time" },
];

/** Gives a webhook a new secret after a confirmation, and shows it once. */
export const ChangeSecret = ({
  webhook,
  onClose,
}: {
  readonly webhook: Webhook;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const [hours, setHours] = useState("24");
  const [secret, setSecret] = useState<string>();
  const change = useMutation({
    mutationFn: async () => changeWebhookSecret(webhook.id, Number(hours)),
    onSuccess: async (newSecret) => {
      setSecret(newSecret);
      await queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });
    },
  });
  if (secret !== undefined) {
    return <NewSecret title="Secret changed" secret={secret} onClose={onClose} />;
  }
  return (
    <Dialog title={`Change the secret of ${toVisibleText(webhook.name)}?`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <p>
          Deliveries are signed with the new secret and, for the time that you choose, also with the
          current secret. Give the receiver the new secret before that time ends.
        </p>
        {webhook.previousSecretUntilMs !== undefined && (
          <p className="bad">
            The secret was changed recently. If you change it again, the secret before the current
            one becomes invalid at once.
          </p>
        )}
        <Select
          label="The current secret stays valid for"
          data={overlapChoices}
          allowDeselect={false}
          value={hours}
          onChange={(value) => setHours(value ?? "24")}
        />
        <FormError error={change.error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={change.isPending}>
            Change secret
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

import { Button, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useFieldFaults } from "../../components/dialog/field-fault.ts";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { createWebhook, updateWebhook, webhooksQuery } from "./queries.ts";
import type { Webhook } from "./webhook.ts";
import { NewSecret } from "./webhook-secret.tsx";

/** Creates a webhook and shows its secret once, or edits an existing one. */
export const WebhookForm = ({
  webhook,
  onClose,
}: {
  /** The webhook to edit; absent to create one. */
  readonly webhook?: Webhook;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const [name, setName] = useState(webhook?.name ?? "");
  const [url, setUrl] = useState(webhook?.url ?? "");
  const [secret, setSecret] = useState<string>();
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: string }>({
    isBusy: false,
  });
  const { faults, submit } = useFieldFaults(["name", "url"]);
  const save = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      await submit(async () => {
        const body = { name: name.trim(), url: url.trim() };
        if (webhook === undefined) {
          setSecret(await createWebhook(body));
        } else {
          await updateWebhook(webhook.id, body);
          onClose();
        }
      });
      await queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });
    } catch (cause) {
      setState({ isBusy: false, error: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  if (secret !== undefined) {
    return <NewSecret title="Webhook created" secret={secret} onClose={onClose} />;
  }
  return (
    <Dialog title={webhook === undefined ? "New webhook" : "Edit webhook"} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextInput
          label="Name"
          required
          maxLength={200}
          error={faults.name}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <TextInput
          label="URL"
          description="Use an https:// URL. URLs with http:// or a private address work only for hosts that the operator of the server has allowed."
          required
          type="url"
          placeholder="https://example.com/millrace"
          error={faults.url}
          value={url}
          onChange={({ currentTarget }) => setUrl(currentTarget.value)}
        />
        <FormError error={state.error} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            loading={state.isBusy}
            disabled={name.trim() === "" || url.trim() === ""}
          >
            {webhook === undefined ? "Create webhook" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

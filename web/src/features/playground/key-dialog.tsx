import { Button, PasswordInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatTime } from "../../components/time/time.ts";
import { modelEndpointsQuery } from "../models/model-endpoints.ts";
import type { ModelEndpoint } from "../models/model-endpoints.ts";
import { deleteModelKey, setModelKey } from "./queries.ts";

/** A dialog to enter or remove the API key of this tab for an endpoint. The browser does not store the key. */
export const KeyDialog = ({
  endpoint: { name, host, hasKey, keyVariable, sessionKeyExpiresMs },
  onClose,
}: {
  readonly endpoint: ModelEndpoint;
  readonly onClose: () => void;
}) => {
  const client = useQueryClient();
  const [key, setKey] = useState("");
  const finish = async (): Promise<void> => {
    await client.invalidateQueries({ queryKey: modelEndpointsQuery.queryKey });
    onClose();
  };
  const save = useMutation({
    mutationFn: async () => setModelKey(name, key.trim()),
    onSuccess: finish,
  });
  const remove = useMutation({ mutationFn: async () => deleteModelKey(name), onSuccess: finish });
  return (
    <Dialog title={`Key for ${toVisibleText(name)}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          event.stopPropagation();
          save.mutate();
        }}
      >
        <p className="note">
          {hasKey ? "The server already has a key for this endpoint. " : ""}The Millrace server
          keeps the key that you enter here only in memory, for this tab and for at most 8 hours. It
          sends the key only to {toVisibleText(host)}. To provide a key for all users, set{" "}
          <code>{keyVariable}</code> when you start the server.
        </p>
        {sessionKeyExpiresMs !== undefined && (
          <p className="note">Your key expires at {formatTime(sessionKeyExpiresMs)}.</p>
        )}
        <PasswordInput
          label="API key"
          autoComplete="off"
          value={key}
          onChange={({ currentTarget }) => setKey(currentTarget.value)}
        />
        <FormError error={(save.error ?? remove.error)?.message} />
        <div className="dialog-end">
          {sessionKeyExpiresMs !== undefined && (
            <Button
              type="button"
              variant="subtle"
              color="red"
              loading={remove.isPending}
              onClick={() => remove.mutate()}
            >
              Remove key
            </Button>
          )}
          <Button type="button" variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" disabled={key.trim() === ""} loading={save.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

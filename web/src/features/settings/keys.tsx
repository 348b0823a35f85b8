import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { forgetKey, keepKey, readKey } from "../../api/access.ts";
import { createKey, keysQuery, revokeKey } from "./queries.ts";
import type { ListedKey, ServerFacts } from "./queries.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { CopyText } from "../../components/text/copy-text.tsx";
import { FormFault, FormSection } from "../../components/dialog/form.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { KeyTable } from "./key-table.tsx";

const openServer =
  "This server asks for no key: every program on this machine may use it. The first key you make closes it to all who have none; this browser goes on with the key you made.";
const closedServer =
  "Programs send a key in the header x-api-key. A key is shown once, when it is made.";

/** Keys: what there is, a new one, and the one that this browser uses. */
export const Keys = ({ facts }: { readonly facts: ServerFacts }) => {
  const { data: keys, error, refetch } = useQuery(keysQuery);
  const [revoking, setRevoking] = useState<ListedKey>();
  const queryClient = useQueryClient();
  return (
    <FormSection title="Keys" about={facts.needsKey ? closedServer : openServer}>
      <NewKey facts={facts} />
      {keys === undefined && error === null && <Loading what="keys" />}
      {keys === undefined && error !== null && (
        <Failure what="the keys" error={error} onRetry={refetch} />
      )}
      {keys !== undefined && keys.length > 0 && <KeyTable keys={keys} onRevoke={setRevoking} />}
      {readKey() !== undefined && (
        <Button
          variant="default"
          onClick={() => {
            forgetKey();
            void queryClient.resetQueries();
          }}
        >
          Forget the key of this browser
        </Button>
      )}
      {revoking !== undefined && (
        <Confirm
          title={`Revoke ${toVisibleText(revoking.name) || "the key"} …${revoking.hint}?`}
          action="Revoke"
          onConfirm={async () => {
            await revokeKey(revoking.id);
            await queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
          }}
          onClose={() => setRevoking(undefined)}
        >
          <p>
            {readKey()?.endsWith(revoking.hint) === true
              ? "This browser uses it, and will ask for another key."
              : "Programs that use it are refused from now on."}{" "}
            The server goes on asking for a key, even when none is left.
          </p>
        </Confirm>
      )}
    </FormSection>
  );
};

const NewKey = ({ facts }: { readonly facts: ServerFacts }) => {
  const [name, setName] = useState("");
  const queryClient = useQueryClient();
  const {
    mutate,
    data: made,
    error,
    isPending,
  } = useMutation({
    mutationFn: createKey,
    onSuccess: async (key) => {
      setName("");
      if (!facts.needsKey) {
        // From now on the server asks for one: this browser stays in.
        keepKey(key);
      }
      await queryClient.invalidateQueries();
    },
  });
  return (
    <>
      <form
        className="settings-row"
        onSubmit={(event) => {
          event.preventDefault();
          mutate({ name: name.trim() });
        }}
      >
        <TextInput
          label="Name of the new key"
          placeholder="laptop, CI, …"
          maxLength={200}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Button type="submit" loading={isPending}>
          {facts.needsKey ? "Make a key" : "Make a key and close the server"}
        </Button>
      </form>
      <FormFault error={error?.message} />
      {made !== undefined && (
        <output className="settings-made">
          <p>Copy the key now: it is not shown again.</p>
          <CopyText label="New key" text={made} />
        </output>
      )}
    </>
  );
};

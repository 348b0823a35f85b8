import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { removeKey, storeKey, readKey } from "../../api/access.ts";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { FormError, FormSection } from "../../components/dialog/form.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { CopyText } from "../../components/text/copy-text.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { parseTimeMs } from "../../components/time/time.ts";
import { createKey, keysQuery, revokeKey } from "./queries.ts";
import type { ListedKey, ServerFacts } from "./queries.ts";

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
            removeKey();
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
        storeKey(key);
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
      <FormError error={error?.message} />
      {made !== undefined && (
        <output className="settings-made">
          <p>Copy the key now: it is not shown again.</p>
          <CopyText label="New key" text={made} />
        </output>
      )}
    </>
  );
};

/** The keys, revoked ones too. */
const KeyTable = ({
  keys,
  onRevoke,
}: {
  readonly keys: readonly ListedKey[];
  readonly onRevoke: (key: ListedKey) => void;
}) => (
  <ScrollX label="Keys">
    <table className="projects">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Ends in</th>
          <th scope="col">Made</th>
          <th scope="col">
            <span className="unseen">Revoke</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.id}>
            <td className="cell-project">{toVisibleText(key.name) || "–"}</td>
            <td>
              <code>…{key.hint}</code>
            </td>
            <td className="nowrap">
              <Ago at={parseTimeMs(key.createdAt) ?? 0} />
            </td>
            <td className="number">
              {key.revokedAt === undefined ? (
                <Button
                  size="compact-xs"
                  variant="default"
                  aria-label={`Revoke ${toVisibleText(key.name)} …${key.hint}`}
                  onClick={() => onRevoke(key)}
                >
                  Revoke
                </Button>
              ) : (
                <span className="absent">revoked</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollX>
);

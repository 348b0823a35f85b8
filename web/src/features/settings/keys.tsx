import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { KeyScope } from "millrace/model";
import { useState } from "react";
import { removeKey, storeKey, readKey } from "../../api/access.ts";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { FormError, FormSection } from "../../components/dialog/form.tsx";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { CopyText } from "../../components/code/copy-text.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { parseTimeMs } from "../../components/time/time.ts";
import { createKey, keysQuery, revokeKey } from "./queries.ts";
import type { ListedKey, ServerFacts } from "./queries.ts";

const openServerHint =
  "This server does not require an API key: every program on this machine can use it. Once a key exists, the server requires a key for every request. This browser will store the new key and use it.";
const keyRequiredHint =
  "Programs send an API key in the x-api-key header. A key is shown only once, when it is created.";

/**
 * The section of the settings page that lists, creates and revokes the tenant's API keys. It can also remove the key
 * that this browser stores.
 */
export const Keys = ({ facts }: { readonly facts: ServerFacts }) => {
  const { data: keys, error, refetch } = useQuery(keysQuery);
  const [keyToRevoke, setKeyToRevoke] = useState<ListedKey>();
  const queryClient = useQueryClient();
  return (
    <FormSection title="API keys" description={facts.needsKey ? keyRequiredHint : openServerHint}>
      <NewKey facts={facts} />
      {keys === undefined && error === null && <Loading resourceName="API keys" />}
      {keys === undefined && error !== null && (
        <Failure resourceName="the API keys" error={error} onRetry={refetch} />
      )}
      {keys !== undefined && keys.length > 0 && <KeyTable keys={keys} onRevoke={setKeyToRevoke} />}
      {readKey() !== undefined && (
        <Button
          variant="default"
          onClick={() => {
            removeKey();
            void queryClient.resetQueries();
          }}
        >
          Sign out of this browser
        </Button>
      )}
      {keyToRevoke !== undefined && (
        <Confirm
          title={`Revoke ${toVisibleText(keyToRevoke.name) || "the key"} …${keyToRevoke.hint}?`}
          action="Revoke"
          onConfirm={async () => {
            await revokeKey(keyToRevoke.id);
            await queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
          }}
          onClose={() => setKeyToRevoke(undefined)}
        >
          <p>
            {readKey()?.endsWith(keyToRevoke.hint) === true
              ? "This browser uses this key and will ask for another key."
              : "Programs that use this key will be rejected."}{" "}
            The server will still require a key, even if you revoke the last one.
          </p>
        </Confirm>
      )}
    </FormSection>
  );
};

/** The scopes of a key, from the most permissions to the fewest. */
const scopeChoices: readonly { readonly value: KeyScope; readonly label: string }[] = [
  { value: "admin", label: "Everything (admin)" },
  { value: "write", label: "Read and change data (write)" },
  { value: "read", label: "Read only (read)" },
  { value: "ingest", label: "Send runs and feedback only (ingest)" },
];

const NewKey = ({ facts }: { readonly facts: ServerFacts }) => {
  const [name, setName] = useState("");
  const [selectedScope, setScope] = useState<KeyScope>("admin");
  // This browser will use the first key, so the first key must permit creating other keys.
  const scope = facts.needsKey ? selectedScope : "admin";
  const queryClient = useQueryClient();
  const {
    mutate,
    data: newKey,
    error,
    isPending,
  } = useMutation({
    mutationFn: createKey,
    onSuccess: async (key) => {
      setName("");
      if (!facts.needsKey) {
        // The server requires a key from now on. Store the new key, so that this browser keeps its access.
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
          mutate({ name: name.trim(), scope });
        }}
      >
        <TextInput
          label="Key name"
          placeholder="laptop, CI, …"
          maxLength={200}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        {facts.needsKey && (
          <NativeSelect
            label="Scope"
            data={scopeChoices}
            value={scope}
            onChange={({ currentTarget }) =>
              setScope(
                scopeChoices.find(({ value }) => value === currentTarget.value)?.value ?? "admin",
              )
            }
          />
        )}
        <Button type="submit" loading={isPending}>
          {facts.needsKey ? "Create key" : "Create key and require authentication"}
        </Button>
      </form>
      <FormError error={error?.message} />
      {newKey !== undefined && (
        <output className="settings-new-key">
          <p>Copy the key now. It will not be shown again.</p>
          <CopyText label="New key" text={newKey} />
        </output>
      )}
    </>
  );
};

/** A table of all API keys, including revoked ones. */
const KeyTable = ({
  keys,
  onRevoke,
}: {
  readonly keys: readonly ListedKey[];
  readonly onRevoke: (key: ListedKey) => void;
}) => (
  <ScrollX label="API keys">
    <table className="projects stacked">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Key ends in</th>
          <th scope="col">Scopes</th>
          <th scope="col">Created</th>
          <th scope="col">
            <span className="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.id}>
            <td className="cell-project">{toVisibleText(key.name) || "–"}</td>
            <td data-title="Key ends in">
              <code>…{key.hint}</code>
            </td>
            <td data-title="Scopes">{key.scopes.join(", ")}</td>
            <td className="nowrap" data-title="Created">
              <Ago timeMs={parseTimeMs(key.createdAt) ?? 0} />
            </td>
            <td className="number">
              {key.revokedAt === undefined ? (
                <ActionMenu
                  label={`Actions of ${toVisibleText(key.name)} …${key.hint}`}
                  actions={[{ label: "Revoke", onClick: () => onRevoke(key), isDestructive: true }]}
                />
              ) : (
                <span className="absent">Revoked</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollX>
);

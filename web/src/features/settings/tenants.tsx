import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTenantId } from "../../api/tenant.ts";
import { FormError, FormSection } from "../../components/dialog/form.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createTenant, tenantsQuery } from "./queries.ts";
import type { ServerFacts } from "./queries.ts";
import { basePath } from "../../api/base-path.ts";

/** The tenants of the server, and a form for a new tenant if the user may manage tenants. */
export const Tenants = ({ facts }: { readonly facts: ServerFacts }) => {
  const { data: tenants, error, refetch } = useQuery(tenantsQuery);
  const currentId = useTenantId();
  return (
    <FormSection
      title="Tenants"
      description="Each tenant has its own projects, datasets, prompts and keys, and can't access those of other tenants."
    >
      {tenants === undefined && error === null && <Loading resourceName="tenants" />}
      {tenants === undefined && error !== null && (
        <Failure resourceName="the tenants" error={error} onRetry={refetch} />
      )}
      <ul className="settings-list">
        {tenants?.map(({ id, handle, displayName }) => (
          <li key={id}>
            <b>{toVisibleText(handle ?? displayName)}</b>
            {handle !== undefined && handle !== displayName && (
              <span className="absent">{toVisibleText(displayName)}</span>
            )}
            {id === currentId && <span className="absent">current tenant</span>}
            {/* A plain link reloads the page, so that no data of this tenant stays in memory. */}
            {id !== currentId && !facts.needsKey && (
              <a href={`${basePath}/o/${id}/projects`}>Open tenant</a>
            )}
          </li>
        ))}
      </ul>
      {facts.isOperator && <NewTenant />}
    </FormSection>
  );
};

const NewTenant = () => {
  const [handle, setHandle] = useState("");
  const queryClient = useQueryClient();
  const { mutate, error, isPending } = useMutation({
    mutationFn: createTenant,
    onSuccess: async () => {
      setHandle("");
      await queryClient.invalidateQueries({ queryKey: tenantsQuery.queryKey });
    },
  });
  return (
    <>
      <form
        className="settings-row"
        onSubmit={(event) => {
          event.preventDefault();
          mutate({ handle: handle.trim(), displayName: handle.trim() });
        }}
      >
        <TextInput
          label="Tenant handle"
          placeholder="team-a"
          maxLength={64}
          required
          value={handle}
          onChange={({ currentTarget }) => setHandle(currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={isPending} disabled={handle.trim() === ""}>
          Create tenant
        </Button>
      </form>
      <FormError error={error?.message} />
    </>
  );
};

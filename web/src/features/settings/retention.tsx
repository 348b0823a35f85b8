import { Button, NativeSelect, NumberInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { FormSection } from "../../components/dialog/form.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { projectSearchQuery } from "../projects/queries.ts";
import { retentionQuery, setRetention } from "./queries.ts";
import type { RetentionRule } from "./queries.ts";

interface Change {
  readonly projectId: string | null;
  readonly days: number;
}

const daysMax = 36_500;

/** For how long runs are kept: all of them, and those of single projects. */
export const Retention = () => {
  const { data: rules, error, refetch } = useQuery(retentionQuery);
  const { data: projects } = useQuery(projectSearchQuery(""));
  const queryClient = useQueryClient();
  const [asked, setAsked] = useState<Change>();
  const { mutateAsync } = useMutation({
    mutationFn: (rule: { projectId: string | null; days: number | null | undefined }) =>
      setRetention(rule.projectId, rule.days),
    onSuccess: (changed) => queryClient.setQueryData(retentionQuery.queryKey, changed),
  });
  const nameOf = (id: string | null): string =>
    id === null
      ? "All projects"
      : toVisibleText(projects?.find((project) => project.id === id)?.name ?? id);
  return (
    <FormSection
      title="Retention"
      about="Runs are kept for ever unless you say otherwise. Those that began earlier than the days you set are deleted, with their feedback, attachments and places in queues; a project's own rule comes before that of all projects."
    >
      {rules === undefined && error === null && <Loading what="the rules" />}
      {rules === undefined && error !== null && (
        <Failure what="the rules" error={error} onRetry={refetch} />
      )}
      {rules?.length === 0 && <p className="form-about">Everything is kept for ever.</p>}
      <ul className="settings-list">
        {rules?.map((rule) => (
          <li key={rule.projectId ?? ""}>
            <b>{nameOf(rule.projectId)}</b>
            <span>{describe(rule)}</span>
            <Button
              size="compact-xs"
              variant="default"
              aria-label={`Remove the rule of ${nameOf(rule.projectId)}`}
              onClick={() => void mutateAsync({ projectId: rule.projectId, days: undefined })}
            >
              Remove
            </Button>
          </li>
        ))}
      </ul>
      <NewRule
        projects={projects ?? []}
        onAsk={setAsked}
        onKeep={(projectId) => void mutateAsync({ projectId, days: null })}
      />
      {asked !== undefined && (
        <Confirm
          title={`Delete runs older than ${asked.days} days?`}
          action="Delete old runs"
          onConfirm={() => mutateAsync(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            {nameOf(asked.projectId)}: what is older goes within minutes, and can&apos;t be brought
            back.
          </p>
        </Confirm>
      )}
    </FormSection>
  );
};

const describe = ({ days }: RetentionRule): string =>
  days === null ? "kept for ever" : `kept for ${days} ${days === 1 ? "day" : "days"}`;

const NewRule = ({
  projects,
  onAsk,
  onKeep,
}: {
  readonly projects: readonly { readonly id: string; readonly name: string }[];
  readonly onAsk: (change: Change) => void;
  readonly onKeep: (projectId: string | null) => void;
}) => {
  const [projectId, setProjectId] = useState("");
  const [days, setDays] = useState<number | string>(30);
  const target = projectId === "" ? null : projectId;
  const isValid = typeof days === "number" && Number.isInteger(days) && days >= 1;
  return (
    <form
      className="settings-row"
      onSubmit={(event) => {
        event.preventDefault();
        if (isValid) {
          onAsk({ projectId: target, days });
        }
      }}
    >
      <NativeSelect
        label="Runs of"
        value={projectId}
        onChange={({ target: { value } }) => setProjectId(value)}
      >
        <option value="">All projects</option>
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {toVisibleText(name)}
          </option>
        ))}
      </NativeSelect>
      <NumberInput
        label="Keep for days"
        min={1}
        max={daysMax}
        allowDecimal={false}
        clampBehavior="strict"
        value={days}
        onChange={setDays}
      />
      <Button type="submit" variant="default" disabled={!isValid}>
        Set
      </Button>
      {target !== null && (
        <Button variant="default" onClick={() => onKeep(target)}>
          Keep for ever
        </Button>
      )}
    </form>
  );
};

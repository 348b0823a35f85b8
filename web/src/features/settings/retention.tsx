import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { FormSection } from "../../components/dialog/form.tsx";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createProjectSearchQuery } from "../projects/queries.ts";
import { retentionQuery, setRetention } from "./queries.ts";
import type { RetentionRule } from "./queries.ts";

interface NewRetention {
  readonly projectId: string | null;
  readonly days: number;
}

const maxDays = 36_500;

/** How long runs are kept: the rule for all projects, and the rules of single projects. */
export const Retention = () => {
  const { data: rules, error, refetch } = useQuery(retentionQuery);
  const { data: projects } = useQuery(createProjectSearchQuery(""));
  const queryClient = useQueryClient();
  const [ruleToConfirm, setRuleToConfirm] = useState<NewRetention>();
  const { mutateAsync } = useMutation({
    mutationFn: (rule: { projectId: string | null; days: number | null | undefined }) =>
      setRetention(rule.projectId, rule.days),
    onSuccess: (newRules) => queryClient.setQueryData(retentionQuery.queryKey, newRules),
  });
  const formatProject = (id: string | null): string =>
    id === null
      ? "All projects"
      : toVisibleText(projects?.find((project) => project.id === id)?.name ?? id);
  return (
    <FormSection
      title="Retention"
      description="Runs are kept forever unless you set a retention period. Older runs are deleted, with their feedback, attachments and queue entries. The rule of a project overrides the rule for all projects."
    >
      {rules === undefined && error === null && <Loading resourceName="the retention rules" />}
      {rules === undefined && error !== null && (
        <Failure resourceName="the retention rules" error={error} onRetry={refetch} />
      )}
      {rules?.length === 0 && (
        <p className="form-about">No retention rules. Runs are kept forever.</p>
      )}
      <ul className="settings-list">
        {rules?.map((rule) => (
          <li key={rule.projectId ?? ""}>
            <b>{formatProject(rule.projectId)}</b>
            <span>{formatRule(rule)}</span>
            <ActionMenu
              label={`Actions of the rule for ${formatProject(rule.projectId)}`}
              actions={[
                {
                  label: "Remove rule",
                  onClick: () => void mutateAsync({ projectId: rule.projectId, days: undefined }),
                  isDestructive: true,
                },
              ]}
            />
          </li>
        ))}
      </ul>
      <NewRule
        projects={projects ?? []}
        onSubmit={setRuleToConfirm}
        onKeepForever={(projectId) => void mutateAsync({ projectId, days: null })}
      />
      {ruleToConfirm !== undefined && (
        <Confirm
          title={`Delete runs older than ${pluralize(ruleToConfirm.days, "day")}?`}
          action="Delete old runs"
          onConfirm={() => mutateAsync(ruleToConfirm)}
          onClose={() => setRuleToConfirm(undefined)}
        >
          <p>
            {formatProject(ruleToConfirm.projectId)}: older runs are deleted within minutes. This
            can&apos;t be undone.
          </p>
        </Confirm>
      )}
    </FormSection>
  );
};

const formatRule = ({ days }: RetentionRule): string =>
  days === null ? "kept forever" : `kept for ${pluralize(days, "day")}`;

/** Parses the entered number of days; `undefined` if it is not a whole number that the server accepts. */
function parseDays(text: string): number | undefined {
  const days = /^\d+$/.test(text.trim()) ? Number(text) : 0;
  return days >= 1 && days <= maxDays ? days : undefined;
}

const NewRule = ({
  projects,
  onSubmit,
  onKeepForever,
}: {
  readonly projects: readonly { readonly id: string; readonly name: string }[];
  readonly onSubmit: (change: NewRetention) => void;
  readonly onKeepForever: (projectId: string | null) => void;
}) => {
  const [projectId, setProjectId] = useState("");
  const [text, setText] = useState("30");
  const targetId = projectId === "" ? null : projectId;
  const days = parseDays(text);
  return (
    <form
      className="settings-row"
      onSubmit={(event) => {
        event.preventDefault();
        if (days !== undefined) {
          onSubmit({ projectId: targetId, days });
        }
      }}
    >
      <NativeSelect
        label="Project"
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
      {/* A NumberInput would drop characters that are not part of a whole number, and so turn 1.5 into 15. */}
      <TextInput
        label="Retention (days)"
        inputMode="numeric"
        // The error message is above the input, so that the input stays in line with the other fields of the row.
        inputWrapperOrder={["label", "error", "input"]}
        error={
          days === undefined &&
          `Enter the retention in days, a whole number from 1 to ${maxDays.toLocaleString("en")}.`
        }
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Button type="submit" variant="default" disabled={days === undefined}>
        Save rule
      </Button>
      {targetId !== null && (
        <Button variant="default" onClick={() => onKeepForever(targetId)}>
          Keep forever
        </Button>
      )}
    </form>
  );
};

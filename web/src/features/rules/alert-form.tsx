import { NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";
import { useFieldFaults } from "../../components/dialog/field-fault.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import {
  alertGroupings,
  alertScopes,
  alertWindows,
  figureNames,
  figures,
  formatWindow,
  runStatuses,
} from "./alert.ts";
import type { Alert, AlertGrouping, AlertScope, FigureName } from "./alert.ts";
import { useFilterField } from "./filter-field.tsx";
import { saveAlert, webhooksQuery } from "./queries.ts";
import type { RulesSearch } from "./rules-search.ts";

/** Creates an alert, or edits an existing one. */
export const AlertForm = ({
  projectId,
  alert,
  selection = {},
  onClose,
}: {
  readonly projectId: string;
  /** The alert to edit; absent to create one. */
  readonly alert?: Alert;
  /** The metric that a new alert watches, and the runs that it counts. */
  readonly selection?: Pick<RulesSearch, "figure" | "scope" | "group" | "value" | "filter">;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const { data: webhooks = [] } = useQuery(webhooksQuery);
  const [name, setName] = useState(alert?.name ?? "");
  const [figure, setFigure] = useState(
    alert?.figure ?? figureNames.find((known) => known === selection.figure) ?? "error_rate",
  );
  const [scope, setScope] = useState<AlertScope>(
    alert?.scope ?? findKey(alertScopes, selection.scope) ?? "traces",
  );
  const [grouping, setGrouping] = useState<AlertGrouping | "">(
    alert?.group?.by ?? findKey(alertGroupings, selection.group) ?? "",
  );
  const [value, setValue] = useState(alert?.group?.value ?? selection.value ?? "");
  const [filter, setFilter] = useState(alert?.filter ?? selection.filter ?? "");
  const [windowMinutes, setWindowMinutes] = useState(alert?.windowMinutes ?? 15);
  const [direction, setDirection] = useState(alert?.direction ?? "above");
  const { factor, unit } = figures[figure];
  const [threshold, setThreshold] = useState<number | string>(
    alert === undefined ? "" : Number((alert.threshold / factor).toPrecision(12)),
  );
  const [webhookId, setWebhookId] = useState(alert?.webhookId ?? "");
  const { faults, submit } = useFieldFaults([
    "name",
    "group.value",
    "filter",
    "threshold",
    "webhook_id",
  ]);
  const { field: filterField, assertApplied } = useFilterField({
    projectId,
    description: "Leave the filter empty to count all of these runs.",
    fault: faults.filter,
    value: filter,
    onChange: setFilter,
  });
  const thresholdFault =
    Number(threshold) * factor > getMaxValue(figure)
      ? `Enter at most ${getMaxValue(figure) / factor} ${unit}.`
      : undefined;
  const isComplete =
    name.trim() !== "" &&
    typeof threshold === "number" &&
    thresholdFault === undefined &&
    (grouping === "" || value !== "");
  return (
    <DialogForm
      title={alert === undefined ? "New alert" : "Edit alert"}
      action={alert === undefined ? "Create alert" : "Save"}
      isDisabled={!isComplete}
      onClose={onClose}
      onSubmit={async () => {
        assertApplied();
        await submit(async () => {
          await saveAlert(projectId, alert?.id, {
            name: name.trim(),
            figure,
            scope,
            group: grouping === "" ? null : { by: grouping, value },
            filter: filter === "" ? null : filter,
            window_minutes: windowMinutes,
            direction,
            threshold: Number((Number(threshold) * factor).toPrecision(12)),
            webhook_id: webhookId === "" ? null : webhookId,
          });
          await queryClient.invalidateQueries({ queryKey: ["alerts", projectId] });
        });
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
      <NativeSelect
        label="Metric"
        value={figure}
        onChange={({ currentTarget }) =>
          setFigure(figureNames.find((known) => known === currentTarget.value) ?? figure)
        }
        data={figureNames.map((known) => ({ value: known, label: figures[known].label }))}
      />
      <div className="form-row">
        <NativeSelect
          label="Condition"
          value={direction}
          onChange={({ currentTarget }) =>
            setDirection(currentTarget.value === "below" ? "below" : "above")
          }
          data={[
            { value: "above", label: "Above" },
            { value: "below", label: "Below" },
          ]}
        />
        <NumberInput
          label={`Threshold (${unit})`}
          required
          min={0}
          error={thresholdFault ?? faults.threshold}
          value={threshold}
          onChange={setThreshold}
        />
        <NativeSelect
          label="Window"
          value={windowMinutes}
          onChange={({ currentTarget }) => setWindowMinutes(Number(currentTarget.value))}
          data={alertWindows.map((minutes) => ({
            value: String(minutes),
            label: formatWindow(minutes),
          }))}
        />
      </div>
      <div className="form-row">
        <NativeSelect
          label="Runs"
          value={scope}
          onChange={({ currentTarget }) =>
            setScope(findKey(alertScopes, currentTarget.value) ?? scope)
          }
          data={Object.entries(alertScopes).map(([key, text]) => ({ value: key, label: text }))}
        />
        <NativeSelect
          label="Filter by"
          value={grouping}
          onChange={({ currentTarget }) => {
            const newGrouping = findKey(alertGroupings, currentTarget.value) ?? "";
            setGrouping(newGrouping);
            setValue(newGrouping === "status" ? "error" : "");
          }}
          data={[
            { value: "", label: "Nothing" },
            ...Object.entries(alertGroupings).map(([key, text]) => ({ value: key, label: text })),
          ]}
        />
        {grouping === "status" && (
          <NativeSelect
            label={alertGroupings[grouping]}
            error={faults["group.value"]}
            value={value}
            onChange={({ currentTarget }) => setValue(currentTarget.value)}
            data={[...runStatuses]}
          />
        )}
        {grouping !== "" && grouping !== "status" && (
          <TextInput
            label={alertGroupings[grouping]}
            required
            maxLength={300}
            error={faults["group.value"]}
            value={value}
            onChange={({ currentTarget }) => setValue(currentTarget.value)}
          />
        )}
      </div>
      {filterField}
      <NativeSelect
        label="Webhook"
        description="The webhook is notified when the alert fires, and when it has recovered."
        error={faults.webhook_id}
        value={webhookId}
        onChange={({ currentTarget }) => setWebhookId(currentTarget.value)}
        data={[
          { value: "", label: "None" },
          ...webhooks.map((webhook) => ({
            value: webhook.id,
            label: toVisibleText(webhook.name),
          })),
        ]}
      />
      <p className="quiet">
        The metric is computed each minute. The alert fires when two values in a row are beyond the
        threshold. It recovers when three values in a row are on the other side of the threshold, at
        least 5 % away from it.
      </p>
    </DialogForm>
  );
};

/** The highest value that a metric can have, in the unit of the server. */
const getMaxValue = (figure: FigureName): number =>
  figure === "error_rate" ? 1 : Number.POSITIVE_INFINITY;

const findKey = <Key extends string>(
  table: Readonly<Record<Key, string>>,
  text: string | undefined,
): Key | undefined => (Object.keys(table) as Key[]).find((key) => key === text);

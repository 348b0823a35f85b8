import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { toRecord } from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { formatJson } from "../../components/text/json-text.ts";
import { dataTypes, describeDataType } from "./dataset.ts";
import type { Dataset } from "./dataset.ts";
import { findFaults } from "./examples/example-faults.ts";
import { JsonField } from "./examples/json-field.tsx";
import { createDataset, updateDataset } from "./queries.ts";

const toJson = (value: JsonMembers | undefined): string =>
  value === undefined || Object.keys(value).length === 0 ? "" : formatJson(value);

const parseJsonText = (json: string): JsonMembers | undefined =>
  json.trim() === "" ? undefined : toRecord(JSON.parse(json));

/** Creates a dataset, or edits the name, description, schemas and metadata of an existing one. */
export const DatasetForm = ({
  dataset,
  tenantId,
  onClose,
}: {
  /** The dataset to edit; absent to create one. */
  readonly dataset?: Dataset;
  readonly tenantId: string;
  readonly onClose: () => void;
}) => {
  const [name, setName] = useState(dataset?.name ?? "");
  const [description, setDescription] = useState(dataset?.description ?? "");
  const [dataType, setDataType] = useState<string>("kv");
  const [jsonTexts, setJsonTexts] = useState({
    inputs: toJson(dataset?.inputsSchema),
    outputs: toJson(dataset?.outputsSchema),
    metadata: toJson(dataset?.metadata),
  });
  const hasFaults = Object.values(jsonTexts).some((text) => findFaults(text, true).length > 0);
  const save = useSave({ dataset, tenantId, onClose });
  const renderJsonField = (part: keyof typeof jsonTexts, label: string) => (
    <JsonField
      label={label}
      value={jsonTexts[part]}
      isOptional
      onChange={(text) => setJsonTexts((current) => ({ ...current, [part]: text }))}
    />
  );
  return (
    <Dialog
      title={dataset === undefined ? "New dataset" : "Edit dataset"}
      width={640}
      onClose={onClose}
    >
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate({
            dataType,
            fields: {
              name,
              description,
              metadata: parseJsonText(jsonTexts.metadata),
              inputsSchema: parseJsonText(jsonTexts.inputs) ?? null,
              outputsSchema: parseJsonText(jsonTexts.outputs) ?? null,
            },
          });
        }}
      >
        <TextInput
          label="Name"
          required
          data-autofocus
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Textarea
          label="Description"
          rows={2}
          value={description}
          onChange={({ currentTarget }) => setDescription(currentTarget.value)}
        />
        {dataset === undefined && (
          <NativeSelect
            label="Type"
            data={dataTypes.map((type) => ({ value: type, label: describeDataType(type) }))}
            value={dataType}
            onChange={({ currentTarget }) => setDataType(currentTarget.value)}
          />
        )}
        {renderJsonField("inputs", "Input JSON Schema")}
        {renderJsonField("outputs", "Output JSON Schema")}
        {renderJsonField("metadata", "Metadata")}
        <FormError error={save.error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending} disabled={name.trim() === "" || hasFaults}>
            {dataset === undefined ? "Create" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

function useSave({
  dataset,
  tenantId,
  onClose,
}: {
  readonly dataset: Dataset | undefined;
  readonly tenantId: string;
  readonly onClose: () => void;
}) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async ({
      fields,
      dataType,
    }: {
      readonly fields: Parameters<typeof updateDataset>[1];
      readonly dataType: string;
    }) =>
      dataset === undefined
        ? createDataset(fields, dataType)
        : updateDataset(dataset.id, fields).then(() => dataset.id),
    onSuccess: async (datasetId) => {
      await queryClient.invalidateQueries({ queryKey: ["datasets"] });
      onClose();
      if (dataset === undefined) {
        await navigate({
          to: "/o/$tenantId/datasets/$datasetId",
          params: { tenantId, datasetId },
        });
      }
    },
  });
}

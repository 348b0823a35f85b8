import { Button, TagsInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../../components/dialog/dialog.tsx";
import { FormError } from "../../../components/dialog/form.tsx";
import { createSplitsQuery } from "../queries.ts";
import { exampleParts, findFaults, locateSchemaFaults } from "./example-faults.ts";
import type { ExamplePart } from "./example-faults.ts";
import { parseExactJson } from "./example.ts";
import { JsonField } from "./json-field.tsx";
import { createExample } from "./queries.ts";
import type { ExampleChange } from "./queries.ts";

/** The state of the editor: the JSON text of each part of an example, and the names of its splits. */
export interface ExampleTexts extends Readonly<Record<ExamplePart, string>> {
  readonly splits: readonly string[];
}

const labels = { inputs: "Inputs", outputs: "Reference outputs", metadata: "Metadata" } as const;

/** A form that edits an example. It underlines invalid JSON and values that violate the dataset's schema. */
export const ExampleEditor = ({
  datasetId,
  texts: initialTexts,
  action,
  onSave,
  onCancel,
}: {
  readonly datasetId: string;
  readonly texts: ExampleTexts;
  /** Label of the submit button. */
  readonly action: string;
  readonly onSave: (change: ExampleChange) => Promise<unknown>;
  readonly onCancel: () => void;
}) => {
  const [texts, setTexts] = useState(initialTexts);
  const splits = useQuery(createSplitsQuery(datasetId, undefined));
  const save = useMutation({ mutationFn: async () => onSave(toChange(texts)) });
  const hasFaults = exampleParts.some(
    (part) => findFaults(texts[part], part !== "inputs").length > 0,
  );
  const errorMessage = save.error?.message ?? "";
  const schemaFaults = locateSchemaFaults(errorMessage, texts);
  const hasSchemaFaults = exampleParts.some((part) => schemaFaults[part].length > 0);
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      {exampleParts.map((part) => (
        <JsonField
          key={part}
          label={labels[part]}
          value={texts[part]}
          isOptional={part !== "inputs"}
          faults={schemaFaults[part]}
          onChange={(text) => {
            save.reset();
            setTexts((current) => ({ ...current, [part]: text }));
          }}
        />
      ))}
      <TagsInput
        size="xs"
        label="Splits"
        description="Press Enter to add a split. The default is “base”."
        data={[...(splits.data ?? [])]}
        value={[...texts.splits]}
        onChange={(names) => setTexts((current) => ({ ...current, splits: names }))}
        comboboxProps={{ withinPortal: false }}
      />
      <FormError error={save.error === null || hasSchemaFaults ? undefined : errorMessage} />
      <div className="dialog-end">
        <Button size="xs" variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button size="xs" type="submit" loading={save.isPending} disabled={hasFaults}>
          {action}
        </Button>
      </div>
    </form>
  );
};

const toChange = ({ inputs, outputs, metadata, splits }: ExampleTexts): ExampleChange => ({
  inputs: parseExactJson(inputs),
  outputs: outputs.trim() === "" ? null : parseExactJson(outputs),
  metadata: metadata.trim() === "" ? {} : parseExactJson(metadata),
  split: splits.length === 0 ? ["base"] : splits,
});

const emptyExample = { inputs: "{\n  \n}", outputs: "", metadata: "", splits: [] };

/** A dialog in which the user writes a new example. */
export const NewExample = ({
  datasetId,
  onClose,
}: {
  readonly datasetId: string;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  return (
    <Dialog title="Add example" width={680} onClose={onClose}>
      <ExampleEditor
        datasetId={datasetId}
        texts={emptyExample}
        action="Add"
        onCancel={onClose}
        onSave={async (change) => {
          await createExample(datasetId, change);
          await queryClient.invalidateQueries({ queryKey: ["datasets"] });
          onClose();
        }}
      />
    </Dialog>
  );
};

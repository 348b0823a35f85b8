import { Button, TagsInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../../components/dialog/dialog.tsx";
import { FormError } from "../../../components/dialog/form.tsx";
import { splitsQuery } from "../queries.ts";
import { exampleParts, findFaults, locateSchemaFaults } from "./example-faults.ts";
import type { ExamplePart } from "./example-faults.ts";
import { parseExact } from "./example.ts";
import { JsonField } from "./json-field.tsx";
import { createExample } from "./queries.ts";
import type { ExampleChange } from "./queries.ts";

/** What of an example is edited: three JSON texts, and names of splits. */
export interface ExampleTexts extends Readonly<Record<ExamplePart, string>> {
  readonly splits: readonly string[];
}

const labels = { inputs: "Inputs", outputs: "Reference outputs", metadata: "Metadata" } as const;

/** Edits an example; what is wrong with it, by JSON or by the dataset's schema, stands where it is. */
export const ExampleEditor = ({
  datasetId,
  texts: start,
  action,
  onSave,
  onCancel,
}: {
  readonly datasetId: string;
  readonly texts: ExampleTexts;
  /** Label of the button. */
  readonly action: string;
  readonly onSave: (change: ExampleChange) => Promise<unknown>;
  readonly onCancel: () => void;
}) => {
  const [texts, setTexts] = useState(start);
  const splits = useQuery(splitsQuery(datasetId, undefined));
  const save = useMutation({ mutationFn: async () => onSave(toChange(texts)) });
  const isFaulty = exampleParts.some(
    (part) => findFaults(texts[part], part !== "inputs").length > 0,
  );
  const refused = save.error?.message ?? "";
  const faults = locateSchemaFaults(refused, texts);
  const isLocated = exampleParts.some((part) => faults[part].length > 0);
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
          mayBeEmpty={part !== "inputs"}
          faults={faults[part]}
          onChange={(text) => {
            save.reset();
            setTexts((now) => ({ ...now, [part]: text }));
          }}
        />
      ))}
      <TagsInput
        size="xs"
        label="Splits"
        description="Enter adds a name; without any it is in base"
        data={[...(splits.data ?? [])]}
        value={[...texts.splits]}
        onChange={(names) => setTexts((now) => ({ ...now, splits: names }))}
        comboboxProps={{ withinPortal: false }}
      />
      <FormError error={save.error === null || isLocated ? undefined : refused} />
      <div className="dialog-end">
        <Button size="xs" variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button size="xs" type="submit" loading={save.isPending} disabled={isFaulty}>
          {action}
        </Button>
      </div>
    </form>
  );
};

const toChange = ({ inputs, outputs, metadata, splits }: ExampleTexts): ExampleChange => ({
  inputs: parseExact(inputs),
  outputs: outputs.trim() === "" ? null : parseExact(outputs),
  metadata: metadata.trim() === "" ? {} : parseExact(metadata),
  split: splits.length === 0 ? ["base"] : splits,
});

const blank = { inputs: "{\n  \n}", outputs: "", metadata: "", splits: [] };

/** Adds an example that is written here. */
export const NewExample = ({
  datasetId,
  onClose,
}: {
  readonly datasetId: string;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  return (
    <Dialog title="Add an example" width={680} onClose={onClose}>
      <ExampleEditor
        datasetId={datasetId}
        texts={blank}
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

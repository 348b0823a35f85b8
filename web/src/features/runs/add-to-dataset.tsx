import { TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import {
  addRunsToDataset,
  createTargetDataset,
  targetDatasetsQuery,
} from "./run-targets.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { AddRunsDialog } from "./add-runs-dialog.tsx";
import type { Place } from "./place.ts";

/** Makes examples of runs: their inputs, and their outputs as what is expected. */
export const AddToDataset = ({
  place,
  ids,
  onClose,
}: {
  readonly place: Place;
  readonly ids: readonly string[];
  readonly onClose: () => void;
}) => {
  const [hasOutputs, setHasOutputs] = useState(true);
  const [split, setSplit] = useState("");
  return (
    <AddRunsDialog
      title="Add to a dataset"
      noun="dataset"
      count={ids.length}
      targets={targetDatasetsQuery}
      onCreate={createTargetDataset}
      onAdd={async ({ id }) => addRunsToDataset(id, ids, { hasOutputs, split: split.trim() })}
      renderTarget={({ id, name }) => (
        <Link
          to="/o/$tenantId/datasets/$datasetId"
          params={{ tenantId: place.tenantId, datasetId: id }}
        >
          {toVisibleText(name)}
        </Link>
      )}
      onClose={onClose}
    >
      <label className="check-line">
        <input
          type="checkbox"
          checked={hasOutputs}
          onChange={({ target }) => setHasOutputs(target.checked)}
        />
        Take the outputs over as what is expected
      </label>
      <TextInput
        label="Split"
        description="Left empty: base"
        value={split}
        onChange={({ currentTarget }) => setSplit(currentTarget.value)}
      />
    </AddRunsDialog>
  );
};

import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createComparison, createPairwiseQuery } from "./queries.ts";

interface NamedExperiment {
  readonly id: string;
  readonly name: string;
}

/** A dialog that creates a pairwise comparison of the selected experiments and opens it. */
export const NewComparison = ({
  datasetId,
  tenantId,
  experiments,
  onClose,
}: {
  readonly datasetId: string;
  readonly tenantId: string;
  /** At least two experiments. */
  readonly experiments: readonly NamedExperiment[];
  readonly onClose: () => void;
}) => {
  const [comparisonId] = useState(() => crypto.randomUUID());
  const [name, setName] = useState(() => proposeName(experiments));
  const [description, setDescription] = useState("");
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const experimentIds = experiments.map((experiment) => experiment.id);
  const creation = useMutation({
    mutationFn: async () =>
      createComparison({
        id: comparisonId,
        name: name.trim(),
        description: description.trim(),
        datasetId,
        experimentIds,
      }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: createPairwiseQuery(datasetId).queryKey });
      await navigate({
        to: "/o/$tenantId/datasets/$datasetId/compare",
        params: { tenantId, datasetId },
        search: { experiments: experimentIds.join(","), comparative: comparisonId },
      });
    },
  });
  return (
    <Dialog title="New pairwise comparison" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          creation.mutate();
        }}
      >
        <p className="form-about">
          A comparison starts empty. Submit feedback with its ID to score the outputs of these
          experiments, or call <code>evaluateComparative</code> in your program instead: it creates
          and scores a comparison.
        </p>
        <ul className="new-comparison">
          {experiments.map((experiment) => (
            <li key={experiment.id}>
              <bdi>{toVisibleText(experiment.name)}</bdi>
            </li>
          ))}
        </ul>
        <TextInput
          label="Name"
          maxLength={maxNameChars}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <TextInput
          label="Description"
          value={description}
          onChange={({ currentTarget }) => setDescription(currentTarget.value)}
        />
        <FormError error={creation.error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={creation.isPending} disabled={name.trim() === ""}>
            Create comparison
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

const maxNameChars = 200;

const proposeName = (experiments: readonly NamedExperiment[]): string =>
  experiments
    .map(({ name }) => name)
    .join(" vs. ")
    .slice(0, maxNameChars);

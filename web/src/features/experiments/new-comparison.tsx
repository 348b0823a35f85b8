import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createComparison, pairwiseQuery } from "./queries.ts";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Names a comparison of the chosen experiments, makes it and opens it. */
export const NewComparison = ({
  datasetId,
  tenantId,
  experiments,
  onClose,
}: {
  readonly datasetId: string;
  readonly tenantId: string;
  /** Two or more. */
  readonly experiments: readonly Named[];
  readonly onClose: () => void;
}) => {
  const [id] = useState(() => crypto.randomUUID());
  const [name, setName] = useState(() => proposeName(experiments));
  const [description, setDescription] = useState("");
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const experimentIds = experiments.map((one) => one.id);
  const make = useMutation({
    mutationFn: async () =>
      createComparison({
        id,
        name: name.trim(),
        description: description.trim(),
        datasetId,
        experimentIds,
      }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: pairwiseQuery(datasetId).queryKey });
      await navigate({
        to: "/o/$tenantId/datasets/$datasetId/compare",
        params: { tenantId, datasetId },
        search: { experiments: experimentIds.join(","), comparative: id },
      });
    },
  });
  return (
    <Dialog title="New pairwise comparison" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        <p className="form-about">
          Their answers are judged against each other: by a program with{" "}
          <code>evaluateComparative</code>, or by feedback that names this comparison.
        </p>
        <ul className="new-comparison">
          {experiments.map((one) => (
            <li key={one.id}>
              <bdi>{toVisibleText(one.name)}</bdi>
            </li>
          ))}
        </ul>
        <TextInput
          label="Name"
          maxLength={200}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <TextInput
          label="Description"
          value={description}
          onChange={({ currentTarget }) => setDescription(currentTarget.value)}
        />
        <FormError error={make.error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={make.isPending} disabled={name.trim() === ""}>
            Make it
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

const nameChars = 200;

const proposeName = (experiments: readonly Named[]): string =>
  experiments
    .map(({ name }) => name)
    .join(" vs. ")
    .slice(0, nameChars);

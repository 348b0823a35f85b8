import { Autocomplete, Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../../components/dialog/dialog.tsx";
import { FormError } from "../../../components/dialog/form.tsx";
import { pluralize } from "../../../components/text/quantity.ts";
import { createSplitsQuery } from "../queries.ts";
import { changeSplit } from "./queries.ts";

/** Adds examples to a split, or removes them from it. */
export const SplitDialog = ({
  datasetId,
  exampleIds,
  onClose,
}: {
  readonly datasetId: string;
  readonly exampleIds: readonly string[];
  readonly onClose: () => void;
}) => {
  const [name, setName] = useState("");
  const queryClient = useQueryClient();
  const splits = useQuery(createSplitsQuery(datasetId, undefined));
  const change = useMutation({
    mutationFn: async (remove: boolean) =>
      changeSplit(datasetId, { name: name.trim(), ids: exampleIds, remove }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["datasets", datasetId] });
      onClose();
    },
  });
  return (
    <Dialog title={`Edit splits of ${pluralize(exampleIds.length, "example")}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(false);
        }}
      >
        <Autocomplete
          label="Split"
          description="Choose a split, or enter the name of a new one."
          data={[...(splits.data ?? [])]}
          value={name}
          onChange={setName}
          comboboxProps={{ withinPortal: false }}
        />
        <FormError error={change.error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            variant="light"
            color="red"
            disabled={name.trim() === "" || change.isPending}
            onClick={() => change.mutate(true)}
          >
            Remove from split
          </Button>
          <Button type="submit" disabled={name.trim() === ""} loading={change.isPending}>
            Add to split
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../../components/dialog/dialog.tsx";
import { FormError } from "../../../components/dialog/form.tsx";
import { formatTime } from "../../../components/time/time.ts";
import type { DatasetVersion } from "../dataset.ts";
import { tagVersion } from "../queries.ts";

/** Puts a tag at a version, wherever it was before. */
export const TagDialog = ({
  datasetId,
  version,
  onClose,
}: {
  readonly datasetId: string;
  readonly version: DatasetVersion;
  readonly onClose: () => void;
}) => {
  const [tag, setTag] = useState("");
  const queryClient = useQueryClient();
  const put = useMutation({
    mutationFn: async () => tagVersion(datasetId, version.asOf, tag.trim()),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["datasets", datasetId, "versions"] });
      onClose();
    },
  });
  return (
    <Dialog title={`Tag the version of ${formatTime(version.atMs)}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          put.mutate();
        }}
      >
        <TextInput
          label="Tag"
          description="A tag is at one version: if another has it, it moves here"
          value={tag}
          onChange={({ currentTarget }) => setTag(currentTarget.value)}
        />
        <FormError error={put.error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={put.isPending} disabled={tag.trim() === ""}>
            Put the tag here
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

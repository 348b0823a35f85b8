import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../../components/dialog/dialog.tsx";
import { FormError } from "../../../components/dialog/form.tsx";
import { formatTime } from "../../../components/time/time.ts";
import type { DatasetVersion } from "../dataset.ts";
import { tagVersion } from "../queries.ts";

/** Tags a version. If another version has the tag, the tag moves to this version. */
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
  const addTag = useMutation({
    mutationFn: async () => tagVersion(datasetId, version.asOf, tag.trim()),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["datasets", datasetId, "versions"] });
      onClose();
    },
  });
  return (
    <Dialog title={`Tag version ${formatTime(version.atMs)}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          addTag.mutate();
        }}
      >
        <TextInput
          label="Tag"
          description="A tag marks one version. If another version has this tag, the tag moves to this version."
          value={tag}
          onChange={({ currentTarget }) => setTag(currentTarget.value)}
        />
        <FormError error={addTag.error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={addTag.isPending} disabled={tag.trim() === ""}>
            Add tag
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

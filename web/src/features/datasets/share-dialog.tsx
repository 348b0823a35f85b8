import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { Loading } from "../../components/page/states.tsx";
import { CopyText } from "../../components/text/copy-text.tsx";
import { shareDataset, createShareQuery, unshareDataset } from "./queries.ts";

/** Creates, shows and revokes the link with which anyone can read a dataset. */
export const ShareDialog = ({
  datasetId,
  onClose,
}: {
  readonly datasetId: string;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const { data: token, error } = useQuery(createShareQuery(datasetId));
  const change = useMutation({
    mutationFn: async (kind: "share" | "unshare") =>
      kind === "share" ? shareDataset(datasetId) : unshareDataset(datasetId).then(() => null),
    onSuccess: (next) => queryClient.setQueryData(createShareQuery(datasetId).queryKey, next),
  });
  const isShared = typeof token === "string";
  return (
    <Dialog title={isShared ? "Dataset shared by link" : "Share dataset"} onClose={onClose}>
      <div className="form">
        {token === undefined && error === null && <Loading resourceName="the link" />}
        <p>
          {isShared
            ? "Anyone with this link can read the dataset and its examples without an API key."
            : "Anyone with the link can read the dataset and its examples without an API key. Source runs are not shared."}
        </p>
        {isShared && (
          <CopyText label="Link" text={`${globalThis.location.origin}/public/${token}/d`} />
        )}
        <FormError error={(error ?? change.error)?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button
            color={isShared ? "red" : "blue"}
            loading={change.isPending}
            disabled={token === undefined}
            onClick={() => change.mutate(isShared ? "unshare" : "share")}
          >
            {isShared ? "Stop sharing" : "Create link"}
          </Button>
        </div>
      </div>
    </Dialog>
  );
};

import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { Loading } from "../../components/page/states.tsx";
import { CopyText } from "../../components/text/copy-text.tsx";
import { shareDataset, shareQuery, unshareDataset } from "./queries.ts";

/** Makes, shows and takes back the link under which anyone may read a dataset. */
export const ShareDialog = ({
  datasetId,
  onClose,
}: {
  readonly datasetId: string;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const { data: token, error } = useQuery(shareQuery(datasetId));
  const change = useMutation({
    mutationFn: async (kind: "share" | "unshare") =>
      kind === "share" ? shareDataset(datasetId) : unshareDataset(datasetId).then(() => null),
    onSuccess: (next) => queryClient.setQueryData(shareQuery(datasetId).queryKey, next),
  });
  const isShared = typeof token === "string";
  return (
    <Dialog title={isShared ? "Shared by a link" : "Share by a link"} onClose={onClose}>
      <div className="form">
        {token === undefined && error === null && <Loading what="the link" />}
        <p>
          {isShared
            ? "Whoever has this link reads the dataset and its examples, without a key."
            : "Whoever has the link will read the dataset and its examples, without a key. The runs that examples came from are not shown."}
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
            {isShared ? "Stop sharing" : "Make a link"}
          </Button>
        </div>
      </div>
    </Dialog>
  );
};

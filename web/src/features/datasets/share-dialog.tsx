import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ShareLinkDialog } from "../../components/dialog/share-link-dialog.tsx";
import { shareDataset, createShareQuery, unshareDataset } from "./queries.ts";
import { readServerUrl } from "../../api/base-path.ts";

/** Creates, shows and revokes a dataset's share link. Anyone with the link can read the dataset. */
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
    onSuccess: (newToken) =>
      queryClient.setQueryData(createShareQuery(datasetId).queryKey, newToken),
  });
  return (
    <ShareLinkDialog
      resource="dataset"
      explanation="Anyone with the link can read the dataset and its examples without an API key. Source runs are not shared."
      link={typeof token === "string" ? `${readServerUrl()}/public/${token}/d` : token}
      error={error}
      change={change}
      onClose={onClose}
    />
  );
};

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { deleteJson, putJson } from "../../../api/http.ts";
import { ShareLinkDialog } from "../../../components/dialog/share-link-dialog.tsx";
import { createTraceRunQuery } from "../queries.ts";
import { readServerUrl } from "../../../api/base-path.ts";

/** Creates, shows and revokes the link with which anyone can read a run. */
export const ShareRunDialog = ({
  runId,
  token,
  isRoot,
  onClose,
}: {
  readonly runId: string;
  /** The token in the link; `undefined` while the run is not shared. */
  readonly token: string | undefined;
  readonly isRoot: boolean;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const change = useMutation({
    mutationFn: async (kind: "share" | "unshare") => {
      const path = toEndpointPath("/runs/:id/share", { id: runId });
      await (kind === "share" ? putJson(path, { run_id: runId }) : deleteJson(path));
      await queryClient.invalidateQueries({ queryKey: createTraceRunQuery(runId).queryKey });
    },
  });
  const extent = isRoot
    ? "The runs below it are not shared."
    : "Other runs of the trace are not shared.";
  return (
    <ShareLinkDialog
      resource="run"
      explanation={`Anyone with the link can read this run without an API key. ${extent}`}
      link={token === undefined ? null : `${readServerUrl()}/public/${token}/r`}
      change={change}
      onClose={onClose}
    />
  );
};

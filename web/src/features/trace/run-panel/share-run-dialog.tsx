import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { deleteJson, putJson } from "../../../api/http.ts";
import { Dialog } from "../../../components/dialog/dialog.tsx";
import { FormError } from "../../../components/dialog/form.tsx";
import { CopyText } from "../../../components/text/copy-text.tsx";
import { createTraceRunQuery } from "../queries.ts";

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
  const isShared = token !== undefined;
  const extent = isRoot
    ? "The runs below it are not shared."
    : "Other runs of the trace are not shared.";
  return (
    <Dialog title={isShared ? "Run shared by link" : "Share run"} onClose={onClose}>
      <div className="form">
        <p>Anyone with the link can read this run without an API key. {extent}</p>
        {isShared && <CopyText label="Link" text={`${location.origin}/public/${token}/r`} />}
        <FormError error={change.error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button
            color={isShared ? "red" : "blue"}
            loading={change.isPending}
            onClick={() => change.mutate(isShared ? "unshare" : "share")}
          >
            {isShared ? "Stop sharing" : "Create link"}
          </Button>
        </div>
      </div>
    </Dialog>
  );
};

import { SegmentedControl } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { readServerUrl } from "../../../api/base-path.ts";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { deleteJson, putJson } from "../../../api/http.ts";
import { ShareLinkDialog } from "../../../components/dialog/share-link-dialog.tsx";
import { createTraceRunQuery, createTraceShareQuery } from "../queries.ts";
import type { TraceRunDetails } from "../queries.ts";

type Extent = "trace" | "run";

const extents: readonly { readonly value: Extent; readonly label: string }[] = [
  { value: "trace", label: "Whole trace" },
  { value: "run", label: "This run only" },
];

const explanations: { readonly [Name in Extent]: string } = {
  trace: "Anyone with the link can read all runs of this trace without an API key.",
  run: "Anyone with the link can read this run without an API key. Other runs of the trace are not shared.",
};

/** Creates, shows and revokes the share links of a trace and of one of its runs. Anyone with a link can read these. */
export const ShareDialog = ({
  details: { id: runId, traceId, shareToken },
  onClose,
}: {
  readonly details: Pick<TraceRunDetails, "id" | "traceId" | "shareToken">;
  readonly onClose: () => void;
}) => {
  const traceShare = useQuery(createTraceShareQuery(traceId));
  const [chosenExtent, setExtent] = useState<Extent>();
  const isOnlyRunShared = shareToken !== undefined && (traceShare.data ?? null) === null;
  const extent = chosenExtent ?? (isOnlyRunShared ? "run" : "trace");
  return (
    <ShareLink
      key={extent}
      extent={extent}
      id={extent === "trace" ? traceId : runId}
      token={extent === "trace" ? traceShare.data : (shareToken ?? null)}
      error={extent === "trace" ? traceShare.error : null}
      onExtent={setExtent}
      onClose={onClose}
    />
  );
};

const ShareLink = ({
  extent,
  id,
  token,
  error,
  onExtent,
  onClose,
}: {
  readonly extent: Extent;
  /** The id of the run to share, or of the root of the trace to share. */
  readonly id: string;
  /** The token in the link; `null` if the trace or run is not shared, `undefined` while the token is loading. */
  readonly token: string | null | undefined;
  readonly error: Error | null;
  readonly onExtent: (extent: Extent) => void;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const change = useMutation({
    mutationFn: async (kind: "share" | "unshare") => {
      const path =
        extent === "trace"
          ? toEndpointPath("/ui/traces/:id/share", { id })
          : toEndpointPath("/runs/:id/share", { id });
      await (kind === "share" ? putJson(path, {}) : deleteJson(path));
      // Keep showing the trace or the run after its link is created or revoked, even if the other one is shared.
      onExtent(extent);
      const query = extent === "trace" ? createTraceShareQuery(id) : createTraceRunQuery(id);
      await queryClient.invalidateQueries({ queryKey: query.queryKey });
    },
  });
  return (
    <ShareLinkDialog
      resource={extent}
      explanation={explanations[extent]}
      link={typeof token === "string" ? `${readServerUrl()}/public/${token}/r` : token}
      error={error}
      change={change}
      onClose={onClose}
    >
      <SegmentedControl
        size="xs"
        aria-label="What to share"
        data={[...extents]}
        value={extent}
        onChange={(value) => onExtent(value === "run" ? "run" : "trace")}
      />
    </ShareLinkDialog>
  );
};

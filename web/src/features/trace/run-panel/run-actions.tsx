import { ActionIcon, Button } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { loadChunk } from "../../../components/page/load-chunk.ts";
import { usePersonName } from "../../../components/text/person-name.ts";
import type { ProjectAddress } from "../../runs/run-list-search.ts";
import { createTraceShareQuery } from "../queries.ts";
import type { TraceRunDetails } from "../queries.ts";
import {
  createFeedback,
  createRunFeedbackQuery,
  deleteFeedback,
  updateFeedback,
} from "./feedback-queries.ts";
import { ShareDialog } from "./share-dialog.tsx";
import { readServerUrl } from "../../../api/base-path.ts";

const AddToDataset = lazy(async () =>
  loadChunk(async () => ({
    default: (await import("../../runs/add-runs-dialog.tsx")).AddToDataset,
  })),
);
const AddToQueue = lazy(async () =>
  loadChunk(async () => ({ default: (await import("../../runs/add-runs-dialog.tsx")).AddToQueue })),
);

/** The actions on the selected run: rate it, share it, add it to a dataset or a queue, and copy its link. */
export const RunActions = ({
  address,
  details,
}: {
  readonly address: ProjectAddress;
  readonly details: TraceRunDetails;
}) => {
  const { copy, copied } = useClipboard();
  const [openDialog, setOpenDialog] = useState<"share" | "dataset" | "queue">();
  const close = (): void => setOpenDialog(undefined);
  const { data: traceToken } = useQuery(createTraceShareQuery(details.traceId));
  const isShared = details.shareToken !== undefined || (traceToken ?? null) !== null;
  const { tenantId, projectId } = address;
  const link = `${readServerUrl()}/o/${tenantId}/projects/p/${projectId}/r/${details.id}`;
  return (
    <div className="run-actions" role="toolbar" aria-label="Actions on the run">
      <Thumbs runId={details.id} />
      {details.runType === "llm" && (
        <Button
          size="compact-xs"
          variant="default"
          renderRoot={(props) => <Link to="/playground" search={{ run: details.id }} {...props} />}
        >
          Open in playground
        </Button>
      )}
      <Button size="compact-xs" variant="default" onClick={() => setOpenDialog("dataset")}>
        Add to dataset
      </Button>
      <Button size="compact-xs" variant="default" onClick={() => setOpenDialog("queue")}>
        Add to annotation queue
      </Button>
      <Button size="compact-xs" variant="default" onClick={() => setOpenDialog("share")}>
        {isShared ? "Shared" : "Share"}
      </Button>
      <Button size="compact-xs" variant="default" onClick={() => copy(link)}>
        {copied ? "Link copied" : "Copy link"}
      </Button>
      <Suspense>
        {openDialog === "dataset" && (
          <AddToDataset address={address} runIds={[details.id]} onClose={close} />
        )}
        {openDialog === "queue" && <AddToQueue runIds={[details.id]} onClose={close} />}
      </Suspense>
      {openDialog === "share" && <ShareDialog details={details} onClose={close} />}
    </div>
  );
};

/** The key of the feedback that the thumb buttons record. Its score is 1 for thumbs up, and 0 for thumbs down. */
const thumbsKey = "thumbs";
const thumbPath =
  "M5 7v6.5H3a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1h2Zm0 0 2.5-5C8.6 2 9.3 2.8 9.1 3.9L8.6 6.5h3.9a1.3 1.3 0 0 1 1.3 1.6l-1 4.4a1.3 1.3 0 0 1-1.3 1H5";

/**
 * Buttons that rate the run. The rating is feedback from the person who uses this browser. A second click on the same
 * button removes the rating.
 */
const Thumbs = ({ runId }: { readonly runId: string }) => {
  const { data: feedback } = useQuery(createRunFeedbackQuery(runId));
  const queryClient = useQueryClient();
  const [personName] = usePersonName();
  const rating = feedback?.find(
    ({ key, source, reviewer = "" }) =>
      key === thumbsKey && source === "app" && reviewer === personName,
  );
  const rate = useMutation({
    mutationFn: async (score: 0 | 1) => {
      const draft = { key: thumbsKey, score, value: undefined, comment: rating?.comment };
      if (rating === undefined) {
        await createFeedback(runId, draft);
      } else if (rating.score === score) {
        await deleteFeedback(rating.id);
      } else {
        await updateFeedback(rating.id, draft);
      }
      await queryClient.invalidateQueries({ queryKey: createRunFeedbackQuery(runId).queryKey });
    },
  });
  return (
    <>
      {([1, 0] as const).map((score) => {
        const label = score === 1 ? "Thumbs up" : "Thumbs down";
        return (
          <ActionIcon
            key={score}
            variant={rating?.score === score ? "light" : "default"}
            aria-label={label}
            title={label}
            aria-pressed={rating?.score === score}
            disabled={feedback === undefined || rate.isPending}
            onClick={() => rate.mutate(score)}
          >
            <svg
              className={score === 1 ? "icon" : "icon thumb-down"}
              viewBox="0 0 16 16"
              aria-hidden="true"
            >
              <path d={thumbPath} />
            </svg>
          </ActionIcon>
        );
      })}
      {rate.error !== null && (
        <span className="bad" role="alert">
          {rate.error.message}
        </span>
      )}
    </>
  );
};

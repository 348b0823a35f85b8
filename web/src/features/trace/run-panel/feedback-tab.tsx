import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Confirm } from "../../../components/dialog/confirm.tsx";
import { ActionMenu } from "../../../components/page/action-menu.tsx";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { Ago } from "../../../components/time/ago.tsx";
import { FeedbackFields } from "./feedback-fields.tsx";
import {
  updateFeedback,
  deleteFeedback,
  createFeedback,
  createRunFeedbackQuery,
} from "./feedback-queries.ts";
import type { FeedbackDraft, RunFeedback } from "./feedback-queries.ts";

/** Which form or dialog of the tab is open. */
type OpenDialog =
  | { readonly kind: "none" }
  | { readonly kind: "create" }
  | { readonly kind: "edit" | "delete"; readonly feedback: RunFeedback };

/** The feedback on a run, with forms to create, edit and delete it. */
export const FeedbackTab = ({ runId }: { readonly runId: string }) => {
  const { data: list, error, refetch } = useQuery(createRunFeedbackQuery(runId));
  const queryClient = useQueryClient();
  const [openDialog, setOpenDialog] = useState<OpenDialog>({ kind: "none" });
  const close = (): void => setOpenDialog({ kind: "none" });
  const applyChange = async (change: Promise<void>): Promise<void> => {
    await change;
    await queryClient.invalidateQueries({ queryKey: createRunFeedbackQuery(runId).queryKey });
    close();
  };
  if (list === undefined) {
    return error === null ? (
      <Loading resourceName="feedback" />
    ) : (
      <Failure resourceName="feedback" error={error} onRetry={refetch} />
    );
  }
  return (
    <div className="feedback-tab">
      {list.length === 0 && <p className="absent">No feedback yet</p>}
      <ul className="feedback-list">
        {list.map((feedback) => (
          <li key={feedback.id}>
            {openDialog.kind === "edit" && openDialog.feedback.id === feedback.id ? (
              <FeedbackFields
                existingFeedback={feedback}
                onSave={(draft: FeedbackDraft) => applyChange(updateFeedback(feedback.id, draft))}
                onClose={close}
              />
            ) : (
              <FeedbackRow feedback={feedback} onOpen={setOpenDialog} />
            )}
          </li>
        ))}
      </ul>
      {openDialog.kind === "create" ? (
        <FeedbackFields
          onSave={(draft) => applyChange(createFeedback(runId, draft))}
          onClose={close}
        />
      ) : (
        <Button size="xs" variant="default" onClick={() => setOpenDialog({ kind: "create" })}>
          Add feedback
        </Button>
      )}
      {openDialog.kind === "delete" && (
        <Confirm
          title="Delete this feedback?"
          action="Delete feedback"
          onConfirm={async () => applyChange(deleteFeedback(openDialog.feedback.id))}
          onClose={close}
        >
          <p>
            <bdi>{toVisibleText(openDialog.feedback.key)}</bdi> will be deleted for all users.
          </p>
        </Confirm>
      )}
    </div>
  );
};

const FeedbackRow = ({
  feedback,
  onOpen,
}: {
  readonly feedback: RunFeedback;
  readonly onOpen: (dialog: OpenDialog) => void;
}) => {
  const { key, score, value, comment, author, createdMs } = feedback;
  return (
    <>
      <p className="feedback-line">
        <bdi className="feedback-key">{toVisibleText(key)}</bdi>
        {score !== undefined && <b>{String(score)}</b>}
        {value !== undefined && <bdi>{toVisibleText(toText(value))}</bdi>}
        <span className="feedback-end">
          {author !== "" && <span className="tag">{toVisibleText(author)}</span>}
          {createdMs !== undefined && <Ago timeMs={createdMs} />}
          <ActionMenu
            label={`Actions of ${toVisibleText(key)}`}
            actions={[
              { label: "Edit", onClick: () => onOpen({ kind: "edit", feedback }) },
              {
                label: "Delete",
                onClick: () => onOpen({ kind: "delete", feedback }),
                isDestructive: true,
              },
            ]}
          />
        </span>
      </p>
      {comment !== undefined && <p className="feedback-comment">{toVisibleText(comment)}</p>}
    </>
  );
};

const maxValueChars = 500;

const toText = (value: unknown): string =>
  (typeof value === "string" ? value : JSON.stringify(value)).slice(0, maxValueChars);

import { Button } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { usePersonName } from "../../components/text/person-name.ts";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { Markdown } from "../../components/markdown/markdown.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatTime } from "../../components/time/time.ts";
import { getAuthorName } from "./comment.ts";
import type { Comment, CommentTarget } from "./comment.ts";
import { CommentForm, NewComment } from "./comment-form.tsx";
import {
  commentsKey,
  createComment,
  createCommentsQuery,
  deleteComment,
  updateComment,
} from "./queries.ts";
import "./comments.css";

/** Which form or dialog is open. */
type OpenDialog =
  | { readonly kind: "none" }
  | { readonly kind: "edit" | "delete"; readonly comment: Comment };

/** The comments on a run or an example, the oldest first, and a form for a new comment. */
export const Comments = ({ target }: { readonly target: CommentTarget }) => {
  const [name] = usePersonName();
  const list = useInfiniteQuery(createCommentsQuery(target, name));
  const queryClient = useQueryClient();
  const [openDialog, setOpenDialog] = useState<OpenDialog>({ kind: "none" });
  // Send the same id again after a failed request. If the server has stored the comment nevertheless, it is not stored
  // twice.
  const [newId, setNewId] = useState(() => crypto.randomUUID());
  const refresh = async (): Promise<void> => {
    // Cancel requests that began before the change, because their responses would not contain it.
    await queryClient.cancelQueries({ queryKey: commentsKey });
    await queryClient.invalidateQueries({ queryKey: commentsKey });
  };
  const close = (): void => setOpenDialog({ kind: "none" });
  const [firstPage] = list.data?.pages ?? [];
  if (firstPage === undefined) {
    return list.error === null ? (
      <Loading resourceName="comments" />
    ) : (
      <Failure resourceName="comments" error={list.error} onRetry={list.refetch} />
    );
  }
  const comments = list.data?.pages.flatMap((page) => page.comments) ?? [];
  return (
    <div className="comments">
      {comments.length === 0 && <p className="absent">No comments yet</p>}
      <ul className="comment-list">
        {comments.map((comment) => (
          <li key={comment.id}>
            {openDialog.kind === "edit" && openDialog.comment.id === comment.id ? (
              <CommentForm
                label="Edit comment"
                action="Save"
                initialText={comment.text}
                hasInitialFocus
                onCancel={close}
                onSave={async (text) => {
                  await updateComment(comment.id, text);
                  await refresh();
                  close();
                }}
              />
            ) : (
              <CommentItem comment={comment} onOpen={setOpenDialog} />
            )}
          </li>
        ))}
      </ul>
      {list.hasNextPage && (
        <Button
          size="xs"
          variant="default"
          loading={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          Show more comments
        </Button>
      )}
      <NewComment
        key={target.id}
        draftKey={target.id}
        keyName={firstPage.keyName}
        onSave={async (text) => {
          await createComment(newId, target, text);
          setNewId(crypto.randomUUID());
          await refresh();
        }}
      />
      {openDialog.kind === "delete" && (
        <Confirm
          title="Delete this comment?"
          action="Delete comment"
          onConfirm={async () => {
            await deleteComment(openDialog.comment.id);
            await refresh();
            close();
          }}
          onClose={close}
        >
          <p>The comment will be deleted for all users.</p>
        </Confirm>
      )}
    </div>
  );
};

const CommentItem = ({
  comment,
  onOpen,
}: {
  readonly comment: Comment;
  readonly onOpen: (dialog: OpenDialog) => void;
}) => {
  const author = toVisibleText(getAuthorName(comment));
  return (
    <article className="comment" aria-label={`Comment by ${author}`}>
      <p className="comment-head">
        <bdi className="comment-author">{author}</bdi>
        {comment.author !== "" && comment.keyName !== undefined && (
          <span className="quiet" title="The API key with which this comment was written">
            key <bdi>{toVisibleText(comment.keyName)}</bdi>
          </span>
        )}
        <span className="quiet">
          <Ago timeMs={comment.createdMs} />
          {comment.editedMs !== undefined && (
            <span title={formatTime(comment.editedMs)}> · edited</span>
          )}
        </span>
        {comment.isOwn && (
          <span className="comment-end">
            <ActionMenu
              label="Actions on your comment"
              actions={[
                { label: "Edit", onClick: () => onOpen({ kind: "edit", comment }) },
                {
                  label: "Delete",
                  isDestructive: true,
                  onClick: () => onOpen({ kind: "delete", comment }),
                },
              ]}
            />
          </span>
        )}
      </p>
      <Markdown text={comment.text} />
    </article>
  );
};

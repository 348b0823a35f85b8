import { Button, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError } from "../../api/http.ts";
import { FormError } from "../../components/dialog/form.tsx";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Empty } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { FeedbackForm as Form } from "./feedback.ts";
import { createFeedbackFormQuery, submitFeedback } from "./queries.ts";
import type { SubmittedFeedback } from "./queries.ts";
import { ScoreField } from "./score-field.tsx";
import "./feedback.css";

const route = getRouteApi("/feedback/tokens/$token");

/** The page `/feedback/tokens/{token}`: a feedback form for everyone with the link, without an API key. */
export const FeedbackForm = () => {
  const { token } = route.useParams();
  const { data: form, error, refetch } = useQuery(createFeedbackFormQuery(token));
  if (form === undefined) {
    return (
      <AbsentView
        title="Feedback"
        resourceName="the form"
        error={error}
        onRetry={refetch}
        missingMessage="This feedback link is not valid. It may be incomplete, or its run or project was deleted."
      />
    );
  }
  return (
    <div className="page feedback-form">
      <title>Feedback</title>
      {form.isExpired ? (
        <>
          <h1>Feedback</h1>
          <Empty title="This link has expired">
            <p>Ask the sender for a new link.</p>
          </Empty>
        </>
      ) : (
        <ActiveForm form={form} token={token} />
      )}
    </div>
  );
};

const ActiveForm = ({ form, token }: { readonly form: Form; readonly token: string }) => {
  const [draft, setDraft] = useState<SubmittedFeedback>({});
  const [comment, setComment] = useState("");
  const { mutate, error, isPending, isSuccess, reset } = useMutation({
    mutationFn: (feedback: SubmittedFeedback) => submitFeedback(token, feedback),
  });
  if (isSuccess) {
    return (
      <Empty title="Thank you">
        <h1>{toVisibleText(form.key)}</h1>
        <p>Your feedback was received.</p>
        <Button
          variant="default"
          onClick={() => {
            setDraft({});
            setComment("");
            reset();
          }}
        >
          Submit more feedback
        </Button>
      </Empty>
    );
  }
  const trimmedComment = comment.trim();
  const isEmpty = Object.keys(draft).length === 0 && trimmedComment === "";
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        mutate({ ...draft, ...(trimmedComment === "" ? {} : { comment: trimmedComment }) });
      }}
    >
      <h1>{toVisibleText(form.key)}</h1>
      <ScoreField input={form.input} draft={draft} onChange={setDraft} />
      <Textarea
        label={form.input.kind === "text" ? "Your feedback" : "Comment"}
        description={form.input.kind === "text" ? undefined : "Optional"}
        autosize
        minRows={3}
        maxRows={12}
        maxLength={10_000}
        value={comment}
        onChange={({ currentTarget }) => setComment(currentTarget.value)}
      />
      <FormError error={error === null ? undefined : toMessage(error)} />
      <div>
        <Button type="submit" loading={isPending} disabled={isEmpty}>
          Submit
        </Button>
      </div>
    </form>
  );
};

const toMessage = (error: Error): string =>
  error instanceof ApiError && error.status === 410 ? "This link has expired." : error.message;

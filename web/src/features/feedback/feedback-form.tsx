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
import { feedbackFormQuery, submitFeedback } from "./queries.ts";
import type { SubmittedFeedback } from "./queries.ts";
import { ScoreField } from "./score-field.tsx";
import "./feedback.css";

const route = getRouteApi("/feedback/tokens/$token");

/** `/feedback/tokens/{token}`: for everyone with the link; needs no key. */
export const FeedbackForm = () => {
  const { token } = route.useParams();
  const { data: form, error, refetch } = useQuery(feedbackFormQuery(token));
  if (form === undefined) {
    return (
      <AbsentView
        title="Feedback"
        what="the form"
        error={error}
        onRetry={refetch}
        missing="This link leads to no form. It may have been cut off, or what it was about was deleted."
      />
    );
  }
  return (
    <div className="page feedback-form">
      <title>Feedback</title>
      {form.isExpired ? (
        <>
          <h1>Feedback</h1>
          <Empty title="This link has expired.">
            <p>Ask whoever gave it to you for another one.</p>
          </Empty>
        </>
      ) : (
        <OpenForm form={form} token={token} />
      )}
    </div>
  );
};

const OpenForm = ({ form, token }: { readonly form: Form; readonly token: string }) => {
  const [draft, setDraft] = useState<SubmittedFeedback>({});
  const [comment, setComment] = useState("");
  const { mutate, error, isPending, isSuccess, reset } = useMutation({
    mutationFn: (all: SubmittedFeedback) => submitFeedback(token, all),
  });
  if (isSuccess) {
    return (
      <Empty title="Thank you.">
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
          Give more
        </Button>
      </Empty>
    );
  }
  const words = comment.trim();
  const isEmpty = Object.keys(draft).length === 0 && words === "";
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        mutate({ ...draft, ...(words === "" ? {} : { comment: words }) });
      }}
    >
      <h1>{toVisibleText(form.key)}</h1>
      <ScoreField input={form.input} draft={draft} onChange={setDraft} />
      <Textarea
        label={form.input.kind === "text" ? "Your words" : "Comment"}
        description={form.input.kind === "text" ? undefined : "If you like"}
        autosize
        minRows={3}
        maxRows={12}
        maxLength={10_000}
        value={comment}
        onChange={({ currentTarget }) => setComment(currentTarget.value)}
      />
      <FormError error={error === null ? undefined : messageOf(error)} />
      <div>
        <Button type="submit" loading={isPending} disabled={isEmpty}>
          Send
        </Button>
      </div>
    </form>
  );
};

const messageOf = (error: Error): string =>
  error instanceof ApiError && error.status === 410
    ? "This link has expired meanwhile."
    : error.message;

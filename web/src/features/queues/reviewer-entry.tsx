import { Button, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { validatePersonName } from "../../components/text/person-name.ts";
import { FormError } from "../../components/dialog/form.tsx";

/** A form for the reviewer's name, which this browser stores and other reviewers see. */
export const ReviewerEntry = ({
  currentName = "",
  onName,
}: {
  readonly currentName?: string;
  readonly onName: (name: string) => void;
}) => {
  const [text, setText] = useState(currentName);
  const [error, setError] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Focus the field, because the view shows only this form. Wait a frame, because after a navigation, the view itself
    // gets the focus first.
    const frame = requestAnimationFrame(() => field.current?.focus());
    return () => cancelAnimationFrame(frame);
  }, []);
  return (
    <form
      className="form queues-name"
      onSubmit={(event) => {
        event.preventDefault();
        const problem = validatePersonName(text);
        setError(problem);
        if (problem === undefined) {
          onName(text.trim());
        }
      }}
    >
      <TextInput
        label="Your name"
        description="This name is shown to other reviewers and saved with your feedback. This browser remembers it."
        autoComplete="nickname"
        data-autofocus
        ref={field}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <FormError error={error} />
      <div className="dialog-end">
        <Button type="submit">Review</Button>
      </div>
    </form>
  );
};

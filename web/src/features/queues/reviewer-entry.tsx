import { Button, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
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
    // The form is all that the view shows. Wait a frame: after a navigation the view gets the focus first.
    const frame = requestAnimationFrame(() => field.current?.focus());
    return () => cancelAnimationFrame(frame);
  }, []);
  return (
    <form
      className="form queues-name"
      onSubmit={(event) => {
        event.preventDefault();
        const problem = validateName(text);
        setError(problem);
        if (problem === undefined) {
          onName(text.trim());
        }
      }}
    >
      <TextInput
        label="Your name"
        description="Shown to other reviewers and saved with your feedback. This browser remembers it."
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

/** The reviewer name that this browser stores; empty until the user enters one. There are no user accounts. */
export const useReviewer = (): readonly [string, (name: string) => void] => {
  const [name, setName] = useLocalStorage({
    key: "millrace-reviewer",
    defaultValue: "",
    getInitialValueInEffect: false,
  });
  return [typeof name === "string" ? name : "", setName];
};

/** Returns an error message for an invalid reviewer name, else `undefined`. The server applies the same rules. */
function validateName(text: string): string | undefined {
  const name = text.trim();
  if (name === "") {
    return "Enter a name, so that other reviewers see who is reviewing a run.";
  }
  if (name.length > 64) {
    return "Use at most 64 characters.";
  }
  return /[\p{Cc}\p{Cs}]/u.test(name) ? "Remove the control characters from the name." : undefined;
}

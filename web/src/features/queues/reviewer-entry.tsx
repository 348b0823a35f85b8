import { Button, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useState } from "react";
import { FormError } from "../../components/dialog/form.tsx";

/** Asks once who reviews: the name is kept in this browser, and others see it. */
export const ReviewerEntry = ({
  current = "",
  onName,
}: {
  readonly current?: string;
  readonly onName: (name: string) => void;
}) => {
  const [text, setText] = useState(current);
  const [fault, setFault] = useState<string>();
  return (
    <form
      className="form queues-name"
      onSubmit={(event) => {
        event.preventDefault();
        const found = faultOfName(text);
        setFault(found);
        if (found === undefined) {
          onName(text.trim());
        }
      }}
    >
      <TextInput
        label="Your name"
        description="Shown to others who review here, and kept with your feedback. This browser remembers it."
        autoComplete="nickname"
        data-autofocus
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <FormError error={fault} />
      <div className="dialog-end">
        <Button type="submit">Review</Button>
      </div>
    </form>
  );
};

/** The name that this browser's user reviews under; empty until they said. There are no accounts. */
export const useReviewer = (): readonly [string, (name: string) => void] => {
  const [name, setName] = useLocalStorage({
    key: "millrace-reviewer",
    defaultValue: "",
    getInitialValueInEffect: false,
  });
  return [typeof name === "string" ? name : "", setName];
};

/** Why a text can't be a reviewer's name; `undefined`: it can. The rule is the server's. */
function faultOfName(text: string): string | undefined {
  const name = text.trim();
  if (name === "") {
    return "A name is needed, so that others see who has a run.";
  }
  if (name.length > 64) {
    return "A name has at most 64 characters.";
  }
  return /[\p{Cc}\p{Cs}]/u.test(name) ? "A name has no control characters." : undefined;
}

import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { FormFault } from "../../components/dialog/form.tsx";
import { faultOfName } from "./use-reviewer.ts";

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
      <FormFault error={fault} />
      <div className="dialog-end">
        <Button type="submit">Review</Button>
      </div>
    </form>
  );
};

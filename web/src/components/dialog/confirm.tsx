import { TextInput } from "@mantine/core";
import { useState } from "react";
import type { ReactNode } from "react";
import { DialogForm } from "./dialog-form.tsx";

/** Asks before something that can't be undone. What `onConfirm` throws is said, and can be tried again. */
export const Confirm = ({
  title,
  action,
  typed,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  /** Label of the button: `Delete 3 runs`. */
  readonly action: string;
  /** Must be typed first, where much would be lost. */
  readonly typed?: string;
  readonly onConfirm: () => unknown;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}) => {
  const [text, setText] = useState("");
  return (
    <DialogForm
      title={title}
      action={action}
      color="red"
      isDisabled={typed !== undefined && text !== typed}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      {children}
      {typed !== undefined && (
        <TextInput
          label={`Type ${typed} to confirm`}
          autoComplete="off"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
      )}
    </DialogForm>
  );
};

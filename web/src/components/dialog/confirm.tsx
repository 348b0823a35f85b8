import { TextInput } from "@mantine/core";
import { useState } from "react";
import type { ReactNode } from "react";
import { DialogForm } from "./dialog-form.tsx";

/**
 * Asks for confirmation of an irreversible action. If `onConfirm` throws, the dialog shows the error and stays open.
 */
export const Confirm = ({
  title,
  action,
  confirmationText,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  /** Label of the button, such as `Delete 3 runs`. */
  readonly action: string;
  /**
   * A text, such as a name, that the user must type to enable the button. Use it for actions that delete a lot of
   * data.
   */
  readonly confirmationText?: string;
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
      isDisabled={confirmationText !== undefined && text !== confirmationText}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      {children}
      {confirmationText !== undefined && (
        <TextInput
          label={`Type ${confirmationText} to confirm`}
          autoComplete="off"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
      )}
    </DialogForm>
  );
};

import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import type { ReactNode } from "react";
import { Dialog } from "./dialog.tsx";
import { FormFault } from "./form.tsx";

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
  /** What the button says: `Delete 3 runs`. */
  readonly action: string;
  /** Must be typed first, where much would be lost. */
  readonly typed?: string;
  readonly onConfirm: () => unknown;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}) => {
  const [text, setText] = useState("");
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: string }>({
    isBusy: false,
  });
  const confirm = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      await onConfirm();
      onClose();
    } catch (cause) {
      setState({ isBusy: false, error: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
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
        <FormFault error={state.error} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            color="red"
            loading={state.isBusy}
            disabled={typed !== undefined && text !== typed}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

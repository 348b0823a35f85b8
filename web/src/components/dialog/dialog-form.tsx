import { Button } from "@mantine/core";
import { useState } from "react";
import type { ReactNode } from "react";
import { Dialog } from "./dialog.tsx";
import { FormError } from "./form.tsx";

/** A dialog with a form. It closes after `onSubmit`; if `onSubmit` throws, it shows the error and stays open. */
export const DialogForm = ({
  title,
  action,
  color,
  isDisabled = false,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string;
  /** Label of the button, such as `Delete 3 runs`. */
  readonly action: string;
  readonly color?: "red";
  readonly isDisabled?: boolean;
  readonly onSubmit: () => unknown;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}) => {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: string }>({
    isBusy: false,
  });
  const submit = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      await onSubmit();
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
          void submit();
        }}
      >
        {children}
        <FormError error={state.error} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            {...(color && { color })}
            loading={state.isBusy}
            disabled={isDisabled}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

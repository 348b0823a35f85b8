import { useEffectEvent, useId, useLayoutEffect, useRef } from "react";
import type { ReactNode } from "react";
import "./dialog.css";

/**
 * What is asked or shown above the page, until it is answered or left with Escape. The browser's own
 * dialog: it keeps the focus, gives it back, and needs no style elements, which the page's policy forbids.
 */
export const Dialog = ({
  title,
  width = 480,
  onClose,
  children,
}: {
  readonly title: string;
  /** Pixels, where there is room. @defaultValue 480 */
  readonly width?: number;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const close = useEffectEvent(onClose);
  useLayoutEffect(() => {
    const shown = dialog.current;
    if (shown === null) {
      return undefined;
    }
    const onCancel = (event: Event): void => {
      event.preventDefault();
      close();
    };
    const onPress = ({ target }: Event): void => {
      // The dialog itself, and nothing in it: what is around it.
      if (target === shown) {
        close();
      }
    };
    shown.addEventListener("cancel", onCancel);
    shown.addEventListener("mousedown", onPress);
    if (!shown.open) {
      shown.showModal();
    }
    return () => {
      shown.removeEventListener("cancel", onCancel);
      shown.removeEventListener("mousedown", onPress);
      shown.close();
    };
  }, []);
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={id} style={{ width }}>
      <div className="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
};

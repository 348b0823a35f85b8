import { useEffectEvent, useId, useLayoutEffect, useRef } from "react";
import type { ReactNode } from "react";
import "./dialog.css";

/**
 * A modal dialog, which Escape or a click outside closes. It uses the browser's `<dialog>`, which traps and restores
 * the focus. Unlike Mantine's modal dialog, it needs no style elements, which the Content-Security-Policy forbids.
 */
export const Dialog = ({
  title,
  width = 480,
  onClose,
  children,
}: {
  readonly title: string;
  /** The width in pixels; less on narrow screens. @defaultValue 480 */
  readonly width?: number;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const close = useEffectEvent(onClose);
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element === null) {
      return undefined;
    }
    const onCancel = (event: Event): void => {
      event.preventDefault();
      close();
    };
    const onMouseDown = ({ target }: Event): void => {
      // A press on the backdrop has the dialog itself as its target. A press anywhere else has an element within the
      // dialog.
      if (target === element) {
        close();
      }
    };
    element.addEventListener("cancel", onCancel);
    element.addEventListener("mousedown", onMouseDown);
    if (!element.open) {
      element.showModal();
    }
    return () => {
      element.removeEventListener("cancel", onCancel);
      element.removeEventListener("mousedown", onMouseDown);
      element.close();
    };
  }, []);
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={titleId} style={{ width }}>
      <div className="dialog-body">
        <h2 id={titleId}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
};

import type { ReactNode } from "react";

/** Scrolls wide content, such as a table, horizontally: also with the arrow keys, once it has the focus. */
export const ScrollX = ({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ReactNode;
}) => (
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard must be able to scroll it
  <section className="scroll-x" aria-label={label} tabIndex={0}>
    {children}
  </section>
);

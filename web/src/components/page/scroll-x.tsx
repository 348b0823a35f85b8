import type { ReactNode } from "react";

/**
 * Makes wide content, such as a table, scrollable sideways with the pointer and, while it has the focus, the arrow
 * keys.
 */
export const ScrollX = ({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ReactNode;
}) => (
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll the content
  <section className="scroll-x" aria-label={label} tabIndex={0}>
    {children}
  </section>
);

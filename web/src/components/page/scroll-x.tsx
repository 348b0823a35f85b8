import type { ReactNode } from "react";

/** What is wider than the page, such as a table: it scrolls by itself, with the arrow keys too. */
export const ScrollX = ({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ReactNode;
}) => (
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keys
  <section className="scroll-x" aria-label={label} tabIndex={0}>
    {children}
  </section>
);

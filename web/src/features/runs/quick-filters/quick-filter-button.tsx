import { Button } from "@mantine/core";
import type { ButtonProps } from "@mantine/core";
import type { ComponentPropsWithRef } from "react";

/** The button of a quick filter. It is marked while the filter has a condition on the field. */
export const QuickFilterButton = ({
  label,
  isActive,
  ...props
}: ButtonProps &
  Omit<ComponentPropsWithRef<"button">, keyof ButtonProps> & {
    readonly label: string;
    readonly isActive: boolean;
  }) => (
  <Button
    {...props}
    size="compact-sm"
    variant="default"
    aria-label={`Filter by ${label.toLowerCase()}${isActive ? " (active)" : ""}`}
    className="quick-button"
    data-active={isActive || undefined}
  >
    {label}
  </Button>
);

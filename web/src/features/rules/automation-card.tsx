import { Switch } from "@mantine/core";
import { useState } from "react";
import type { ReactNode } from "react";
import { FormError } from "../../components/dialog/form.tsx";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import type { MenuAction } from "../../components/page/action-menu.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";

/**
 * A rule, an alert or a webhook as an item of a list: its name, a switch that enables it, and a menu with other
 * actions.
 */
export const AutomationCard = ({
  name,
  mark,
  isEnabled,
  onToggle,
  actions,
  children,
}: {
  readonly name: string;
  /** The state, which is shown next to the name. */
  readonly mark?: ReactNode;
  readonly isEnabled: boolean;
  readonly onToggle: () => Promise<unknown>;
  readonly actions: readonly MenuAction[];
  readonly children: ReactNode;
}) => {
  const [error, setError] = useState<string>();
  const shownName = toVisibleText(name);
  const toggle = async (): Promise<void> => {
    try {
      await onToggle();
      setError(undefined);
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <li className="automation-card" data-disabled={!isEnabled || undefined}>
      <div className="automation-head">
        <h2>
          <bdi>{shownName}</bdi>
        </h2>
        {mark}
        <span className="tools">
          <Switch
            size="sm"
            aria-label={`Enable ${shownName}`}
            checked={isEnabled}
            onChange={() => void toggle()}
          />
          <ActionMenu label={`Actions of ${shownName}`} actions={actions} />
        </span>
      </div>
      {children}
      <FormError error={error} />
    </li>
  );
};

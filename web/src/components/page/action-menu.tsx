import { ActionIcon, Menu } from "@mantine/core";

/** An action in a menu. */
export interface MenuAction {
  readonly label: string;
  readonly onClick: () => void;
  /** Whether the action deletes something. */
  readonly isDestructive?: boolean;
}

/** A menu for the actions of a page that are not its primary one. */
export const ActionMenu = ({
  label,
  actions,
}: {
  /** The name of the button that opens the menu. */
  readonly label: string;
  readonly actions: readonly MenuAction[];
}) => (
  <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
    <Menu.Target>
      <ActionIcon variant="subtle" color="gray" aria-label={label} title={label}>
        ⋯
      </ActionIcon>
    </Menu.Target>
    <Menu.Dropdown>
      {actions.map(({ label: actionLabel, onClick, isDestructive = false }) => (
        <Menu.Item
          key={actionLabel}
          {...(isDestructive ? { className: "bad" } : {})}
          onClick={onClick}
        >
          {actionLabel}
        </Menu.Item>
      ))}
    </Menu.Dropdown>
  </Menu>
);

import { ActionIcon, Button, Menu } from "@mantine/core";

export interface MenuAction {
  readonly label: string;
  readonly onClick: () => void;
  /** Whether the action deletes something. */
  readonly isDestructive?: boolean;
}

/** A menu for the actions of a page that are not its primary one. */
export const ActionMenu = ({
  label,
  text,
  actions,
}: {
  /** The name of the button that opens the menu. */
  readonly label: string;
  /** The text on the button, with which `label` must begin. Without it, the button shows three dots. */
  readonly text?: string;
  readonly actions: readonly MenuAction[];
}) => (
  <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
    <Menu.Target>
      {text === undefined ? (
        <ActionIcon variant="subtle" color="gray" aria-label={label} title={label}>
          ⋯
        </ActionIcon>
      ) : (
        <Button size="xs" variant="default" aria-label={label}>
          {text}
        </Button>
      )}
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

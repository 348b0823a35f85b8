import { messageIcon, modelIcon, toolIcon } from "./icon-paths.ts";
import "./role-icon.css";

const personIcon = "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8ZM3 13.5c.6-5 9.4-5 10 0";

/** The SVG paths of the icons of common roles in recorded messages and in prompts, in a box of 16 by 16 units. */
const roleIcons: ReadonlyMap<string, string> = new Map([
  ["system", "M2 4.5h6M12 4.5h2M10 2.5v4M2 11.5h2M8 11.5h6M6 9.5v4"],
  ["user", personIcon],
  ["human", personIcon],
  ["assistant", modelIcon],
  ["ai", modelIcon],
  ["tool", toolIcon],
]);

/** The icon of the role that wrote a message. */
export const RoleIcon = ({ role }: { readonly role: string }) => (
  <svg className="icon role-icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={roleIcons.get(role) ?? messageIcon} />
  </svg>
);

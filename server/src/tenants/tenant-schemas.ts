import { Type } from "typebox";
import type { Static } from "typebox";
import { Id, IsoTime, Nullable } from "../http/schema-parts.ts";

/** The tenant of the caller. */
export const settingsSchema = Type.Object(
  {
    id: Id,
    display_name: Type.String(),
    created_at: IsoTime,
    tenant_handle: Nullable(Type.String()),
  },
  { title: "Settings" },
);

export type SettingsJson = Static<typeof settingsSchema>;

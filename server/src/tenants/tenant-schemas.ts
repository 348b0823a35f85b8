import { Type } from "typebox";
import type { Static } from "typebox";
import { Id, IsoTime, Text, TextOrNull } from "../http/schema-parts.ts";

/** The tenant of the client. */
export const settingsSchema = Type.Object(
  {
    id: Id,
    display_name: Text,
    created_at: IsoTime,
    tenant_handle: TextOrNull,
  },
  { title: "Settings" },
);

export type SettingsJson = Static<typeof settingsSchema>;

import { ServerError } from "../../model/errors.ts";
import type { PostgresClient } from "./postgres-client.ts";

/**
 * The role that a server assumes if it logs in as a superuser. Row-level security does not apply to superusers, so each
 * connection of such a server switches to this role.
 */
const serverRole = "millrace_server";

/**
 * Returns the SQL with which each connection begins, so that row-level security applies to it. Creates the role
 * {@link serverRole} if the login belongs to a superuser.
 *
 * @throws ServerError the role of the login is exempt from row-level security but is not a superuser.
 */
export async function prepareRole(client: PostgresClient): Promise<string> {
  const { rows } = await client.run({
    text: `SELECT rolname AS name, rolsuper AS "isSuperuser", rolbypassrls AS "isExempt"
      FROM pg_roles WHERE rolname = current_user`,
    values: [],
  });
  const [role] = rows;
  if (role?.["isSuperuser"] === true) {
    await client.exec(`
      DO $$ BEGIN
        CREATE ROLE ${serverRole} NOLOGIN;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;
      END $$;
      DO $$ BEGIN
        EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %I TO ${serverRole}', current_schema());
      END $$;`);
    return `SET ROLE ${serverRole}`;
  }
  if (role?.["isExempt"] === true) {
    throw new ServerError(
      "STORE",
      `the role ${String(role["name"])} has BYPASSRLS, so row-level security would not keep tenants apart: use a role without it`,
    );
  }
  return "";
}

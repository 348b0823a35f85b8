/** The setting that names the tenant of a transaction. */
export const tenantSetting = "millrace.tenant";

/** The tenant of a transaction that concerns all tenants. */
export const allTenants = "*";

/**
 * SQL that protects each table with a `tenant_id` by row-level security: a transaction reads and writes only the rows
 * of its tenant, even if a query lacks its condition on the tenant. This is a second safeguard: every query has such a
 * condition as well. Partitions have no policies of their own: their rows are read through their parents, except for
 * the keys of runs that an index finds (`listPartitionNames`). Repeating the SQL has no effect.
 *
 * The tenant is read in a subquery, so that it is read once per query and not once per row. An owner of tables is
 * exempt unless row-level security is forced; a superuser always is.
 */
export const tenantPolicies = `
  DO $$
  DECLARE
    name TEXT;
  BEGIN
    FOR name IN
      SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT a.attisdropped
        AND NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'own_tenant')
    LOOP
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
      EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
      EXECUTE format(
        'CREATE POLICY own_tenant ON %I USING ((SELECT current_setting(''${tenantSetting}'', true)) IN (tenant_id, ''${allTenants}''))',
        name
      );
    END LOOP;
  END $$;
`;

/**
 * SQL that lets every tenant read public prompts, with their commits and tags. Likes and counts of another tenant's
 * prompts are written in transactions of {@link allTenants}.
 */
export const publicPromptPolicies = `
  CREATE POLICY public_prompts ON prompts FOR SELECT USING (is_public = 1);
  CREATE POLICY public_prompts ON prompt_commits FOR SELECT
    USING (prompt_id IN (SELECT id FROM prompts WHERE is_public = 1));
  CREATE POLICY public_prompts ON prompt_tags FOR SELECT
    USING (prompt_id IN (SELECT id FROM prompts WHERE is_public = 1));
`;

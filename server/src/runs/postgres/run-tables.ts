import { measureNames } from "../usage/measures.ts";
import { partitionedTables } from "./partitions.ts";

const text = 'TEXT COLLATE "C"';
const tenantColumn = `tenant_id ${text} NOT NULL DEFAULT current_setting('millrace.tenant')`;

/**
 * SQL that creates the tables of runs.
 *
 * - `run_keys` finds a run by its id alone, and makes an id unique within its tenant: the tables below are divided into
 *   partitions, and a unique index can't span them. Whoever writes a run holds the lock of its row here.
 * - `runs` has the columns by which runs are filtered, sorted and listed. Its key begins with the tenant and the trace,
 *   because most queries read a trace; `root_us`, the start of the root, determines the partition. `facets` are the
 *   facets of the run (`facets.ts`), `place` is the position of the run in the order in which all runs were stored
 *   (`run-places.ts`), and `changed` is the transaction that wrote the run last.
 * - `payloads` has a row for each record that was received. `seq` is the order in which a run's records arrived.
 *   `document` is what filters read if they can't read `body`: the same JSON with encoded texts (`text-encoding.ts`),
 *   or an empty text if the JSON is nested too deeply. `run_document` is the value that filters read. Payloads are
 *   compressed with lz4 if PostgreSQL was built with it. lz4 takes a third of the time of PostgreSQL's older
 *   compression, with which storing a run took 40 % longer.
 * - `run_facets` lists the values of a project for suggestions, and `threads` lists the threads that its runs named,
 *   each with the last block of time (`facets.ts`) in which one of these runs began.
 * - `run_document` reads JSON for a filter, and returns NULL for what `jsonb` can't hold, such as a number with a
 *   million digits. `run_number` returns NULL for numbers that a double can't hold. One run with such a number must not
 *   make a query over other runs fail.
 */
export const runTables = `
  CREATE TABLE run_keys (
    ${tenantColumn}, id ${text} NOT NULL, root_us BIGINT NOT NULL, trace_id ${text} NOT NULL,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE SEQUENCE payload_order;
  CREATE TABLE runs (
    ${tenantColumn}, root_us BIGINT NOT NULL, trace_id ${text} NOT NULL, id ${text} NOT NULL,
    project_id ${text} NOT NULL, name ${text} NOT NULL, run_type ${text} NOT NULL, start_us BIGINT NOT NULL,
    end_us BIGINT, has_error SMALLINT NOT NULL, parent_run_id ${text}, dotted_order ${text} NOT NULL,
    reference_example_id ${text}, posted SMALLINT NOT NULL, patched BIGINT NOT NULL, measured SMALLINT NOT NULL,
    ${measureNames.map((name) => `${name} DOUBLE PRECISION`).join(", ")}, cost_json ${text},
    facets TEXT[] COLLATE "C" NOT NULL, place BIGINT NOT NULL, changed BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    PRIMARY KEY (tenant_id, trace_id, id, root_us)
  ) PARTITION BY RANGE (root_us);
  CREATE INDEX runs_by_start ON runs (project_id, start_us, id);
  CREATE INDEX roots_by_start ON runs (project_id, start_us, id) WHERE parent_run_id IS NULL;
  CREATE INDEX errors_by_start ON runs (project_id, start_us, id) WHERE has_error = 1;
  CREATE INDEX open_by_start ON runs (project_id, start_us, id) WHERE end_us IS NULL AND has_error = 0;
  CREATE INDEX runs_by_latency ON runs (project_id, (end_us - start_us), id) WHERE end_us IS NOT NULL;
  CREATE INDEX runs_by_example ON runs (reference_example_id) WHERE reference_example_id IS NOT NULL;
  CREATE INDEX runs_by_facet ON runs USING gin (facets);
  CREATE INDEX runs_by_place ON runs (place);
  CREATE INDEX feedback_scores ON feedback (tenant_id, run_id, comparative_id, key_json, score)
    WHERE run_id IS NOT NULL AND score IS NOT NULL;
  CREATE TABLE payloads (
    ${tenantColumn}, root_us BIGINT NOT NULL, trace_id ${text} NOT NULL, id ${text} NOT NULL,
    digest ${text} NOT NULL, seq BIGINT NOT NULL DEFAULT nextval('payload_order'), document TEXT,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant_id, root_us, trace_id, id, digest)
  ) PARTITION BY RANGE (root_us);
  DO $$
    BEGIN
      ALTER TABLE payloads ALTER COLUMN body SET COMPRESSION lz4;
    EXCEPTION WHEN feature_not_supported THEN
      NULL;
    END $$;
  CREATE TABLE attachments (
    ${tenantColumn}, root_us BIGINT NOT NULL, trace_id ${text} NOT NULL, id ${text} NOT NULL, name ${text} NOT NULL,
    content_type ${text} NOT NULL, bytes BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, root_us, trace_id, id, name)
  ) PARTITION BY RANGE (root_us);
  ${partitionedTables.map((table) => `CREATE TABLE ${table}_other PARTITION OF ${table} DEFAULT;`).join("\n  ")}
  CREATE TABLE spans (
    ${tenantColumn}, trace_id ${text} NOT NULL, id ${text} NOT NULL, parent_id ${text}, kind ${text} NOT NULL,
    has_project SMALLINT NOT NULL, run_id ${text} NOT NULL,
    PRIMARY KEY (tenant_id, trace_id, id)
  );
  CREATE INDEX spans_by_run ON spans (tenant_id, run_id);
  CREATE TABLE run_facets (
    ${tenantColumn}, project_id ${text} NOT NULL, facet ${text} NOT NULL,
    PRIMARY KEY (tenant_id, project_id, facet)
  );
  CREATE TABLE threads (
    ${tenantColumn}, project_id ${text} NOT NULL, id ${text} NOT NULL, last_block BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, project_id, id)
  );
  CREATE FUNCTION run_document(document TEXT, body TEXT) RETURNS JSONB LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
      RETURN nullif(coalesce(document, body), '')::jsonb;
    EXCEPTION WHEN OTHERS THEN
      RETURN NULL;
    END $$;
  CREATE FUNCTION run_number(value JSONB) RETURNS NUMERIC LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN abs(n) < 1e300 AND (abs(n) > 1e-300 OR n = 0) THEN n END
      FROM (SELECT CASE jsonb_typeof(value) WHEN 'number' THEN value::numeric END AS n) v $$;
`;

/** SQL that creates the index of `threads` in the order of their list: the last active first. */
export const threadListIndex =
  "CREATE INDEX threads_by_block ON threads (tenant_id, project_id, last_block DESC, id);";

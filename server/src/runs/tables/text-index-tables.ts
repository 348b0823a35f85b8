/**
 * SQL that records which runs the text index, a separate database (`text-index.ts`), does not contain yet. The index
 * contains the runs up to some row. Before it adds more runs, it claims their rows in `text_claim`. From then on,
 * every change of a claimed run is recorded in `text_changes`, and queries read changed runs directly until the index
 * contains the change. A new run may have the row number of a deleted run; such a run is recorded, too.
 */
export const textIndexTables = `
  CREATE TABLE text_claim (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, row INTEGER NOT NULL);
  INSERT INTO text_claim VALUES (1, lower(hex(randomblob(16))), 0);
  CREATE TABLE text_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL);
  CREATE TRIGGER text_of_new AFTER INSERT ON runs WHEN NEW.rowid <= (SELECT row FROM text_claim)
    BEGIN
      INSERT INTO text_changes (run) VALUES (NEW.rowid);
    END;
  CREATE TRIGGER text_of_deleted AFTER DELETE ON runs
    BEGIN
      INSERT INTO text_changes (run) SELECT OLD.rowid WHERE OLD.rowid <= (SELECT row FROM text_claim);
    END;
  CREATE TRIGGER text_of_moved AFTER UPDATE OF trace_id, id ON payloads
    BEGIN
      INSERT INTO text_changes (run) SELECT rowid FROM runs
        WHERE trace_id IN (OLD.trace_id, NEW.trace_id) AND id IN (OLD.id, NEW.id)
          AND rowid <= (SELECT row FROM text_claim);
    END;
`;

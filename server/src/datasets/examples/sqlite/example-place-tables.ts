/** SQL that computes the column `place` from an id: the six bytes that vary most in UUIDs of any version. */
export const toPlaceSql = (idSql: string): string =>
  `unhex(substr(${idSql}, 29, 8) || substr(${idSql}, 5, 4))`;

const columnsSql =
  "(place BLOB NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (place, key)) WITHOUT ROWID";

/**
 * SQL that creates the index of example ids. An entry maps the `place` of an id, which is a part of the id, to the key
 * of a row in `examples` that may have this id. Ids are random: in one large index each new entry would change another
 * database page, and after a million rows most of the bytes written would be such pages. So new entries are added to a
 * small table, which is merged into the large one in sorted order.
 */
export const examplePlaceTables = `
  CREATE TABLE example_places ${columnsSql};
  CREATE TABLE example_places_new ${columnsSql};
  INSERT INTO example_places SELECT ${toPlaceSql("id")}, key FROM examples ORDER BY 1, 2;
  DROP INDEX examples_by_id;
  CREATE TRIGGER example_places_gone AFTER DELETE ON examples
    BEGIN
      DELETE FROM example_places_new WHERE place = ${toPlaceSql("OLD.id")} AND key = OLD.key;
      DELETE FROM example_places WHERE place = ${toPlaceSql("OLD.id")} AND key = OLD.key;
    END;
`;

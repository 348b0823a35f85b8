/** SQL for the column `place` of an id: six bytes of the UUID that vary most, whatever the UUID's version. */
export const placeOf = (id: string): string => `unhex(substr(${id}, 29, 8) || substr(${id}, 5, 4))`;

const columns =
  "(place BLOB NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (place, key)) WITHOUT ROWID";

/**
 * Index from the `place` of an id to the keys of rows in `examples` that may have the id. Ids are random: in one
 * large index each new entry would change another database page, and after a million rows most of the bytes written
 * would be such pages. So new entries go to a small table, which is merged into the large one in sorted order.
 */
export const examplePlaceTables = `
  CREATE TABLE example_places ${columns};
  CREATE TABLE example_places_new ${columns};
  INSERT INTO example_places SELECT ${placeOf("id")}, key FROM examples ORDER BY 1, 2;
  DROP INDEX examples_by_id;
  CREATE TRIGGER example_places_gone AFTER DELETE ON examples
    BEGIN
      DELETE FROM example_places_new WHERE place = ${placeOf("OLD.id")} AND key = OLD.key;
      DELETE FROM example_places WHERE place = ${placeOf("OLD.id")} AND key = OLD.key;
    END;
`;

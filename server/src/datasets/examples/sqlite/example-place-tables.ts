/** Where an id stands: of its digits those that differ most, whatever the version of the UUID. */
export const placeOf = (id: string): string => `unhex(substr(${id}, 29, 8) || substr(${id}, 5, 4))`;

const columns =
  "(place BLOB NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (place, key)) WITHOUT ROWID";

/**
 * Which rows of `examples` an id may have. Ids are random: in one large index each row that is written
 * would touch a page of its own, and a million rows later most of what is written would be that. So new
 * ones stand in a small table, which is poured into the large one in the order of that.
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

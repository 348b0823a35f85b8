import {
  ExpressionWrapper,
  PostgresQueryCompiler,
  RawNode,
  SqliteQueryCompiler,
  createQueryId,
  sql,
} from "kysely";
import type { Expression, OperationNode, OperationNodeSource, RootOperationNode } from "kysely";
import { withinDeadlineSql } from "./sqlite/query-clock.ts";

// The SQL that differs between SQLite and PostgreSQL. All other SQL is the same for both, and is built with the query
// builder.

export type EngineName = "sqlite" | "postgres";

/** A part of a query whose SQL differs between the database engines. */
interface EngineNode extends RawNode {
  readonly byEngine: Readonly<Record<EngineName, OperationNode>>;
}

const isEngineNode = (node: RawNode): node is EngineNode => "byEngine" in node;

class SqliteCompiler extends SqliteQueryCompiler {
  protected override visitRaw(node: RawNode): void {
    if (isEngineNode(node)) {
      this.visitNode(node.byEngine.sqlite);
    } else {
      super.visitRaw(node);
    }
  }
}

class PostgresCompiler extends PostgresQueryCompiler {
  protected override visitRaw(node: RawNode): void {
    if (isEngineNode(node)) {
      this.visitNode(node.byEngine.postgres);
    } else {
      super.visitRaw(node);
    }
  }
}

const compilers = { sqlite: new SqliteCompiler(), postgres: new PostgresCompiler() };

/** Compiles a query to the SQL of a database engine. */
export function compileFor(
  engine: EngineName,
  query: OperationNodeSource,
): { readonly sql: string; readonly parameters: readonly unknown[] } {
  const root = query.toOperationNode() as RootOperationNode;
  return compilers[engine].compileQuery(root, createQueryId());
}

type EngineExpression<Value> = ExpressionWrapper<never, never, Value>;

/**
 * Creates an expression whose SQL differs between the database engines. The functions below use it; other files use
 * it for columns and tables that only one engine has.
 */
export function perEngine<Value>(
  byEngine: Readonly<Record<EngineName, Expression<Value>>>,
): EngineExpression<Value> {
  const node: EngineNode = {
    ...RawNode.create([], []),
    byEngine: {
      sqlite: byEngine.sqlite.toOperationNode(),
      postgres: byEngine.postgres.toOperationNode(),
    },
  };
  return new ExpressionWrapper(node);
}

/**
 * Creates an expression from SQL in which each `?` stands for the value or expression at the same position of
 * `operands`. The SQL must not contain any other question mark.
 */
export const fillPlaceholders = <Value>(
  text: string,
  operands: readonly unknown[],
): Expression<Value> => {
  const templateStrings: readonly string[] = text.split("?");
  return sql<Value>(Object.assign([...templateStrings], { raw: templateStrings }), ...operands);
};

type Text = Expression<string> | Expression<string | null>;

/** A list of texts: the values, or a parameter that contains them as JSON. */
type TextList = readonly string[] | Expression<string>;

const toJsonText = (list: TextList): Expression<string> =>
  "toOperationNode" in list ? list : sql<string>`${JSON.stringify(list)}`;

/**
 * Whether a text is in a list. The list is a single parameter, so its length does not change the SQL, and it may
 * contain more values than the number of parameters that an engine allows.
 */
export function isInList(text: Text, list: TextList): EngineExpression<boolean> {
  const json = toJsonText(list);
  return perEngine<boolean>({
    sqlite: sql`${text} IN (SELECT value FROM json_each(${json}))`,
    postgres: sql`${text} IN (SELECT jsonb_array_elements_text(${toReadableJson(json)}))`,
  });
}

/** Whether a number is in a list of numbers, given as JSON; see {@link isInList}. */
export const isInNumberList = (
  number: Expression<number>,
  list: Expression<string>,
): EngineExpression<boolean> =>
  perEngine<boolean>({
    sqlite: sql`${number} IN (SELECT value FROM json_each(${list}))`,
    postgres: sql`${number} IN (SELECT jsonb_array_elements_text(${list}::jsonb)::bigint)`,
  });

/** The position of a part in a text, beginning with 1; 0 if the text does not contain it. */
export const findPosition = (text: Text, part: Text | string): EngineExpression<number> =>
  perEngine<number>({
    sqlite: sql`instr(${text}, ${part})`,
    postgres: sql`strpos(${text}, ${part})`,
  });

/** JSON-escapes a search text, without adding quotes, so that it can be searched for in a column of JSON texts. */
export const escapeJsonPart = (part: string): string => JSON.stringify(part).slice(1, -1);

/** Whether a text contains a part. The case of ASCII letters is ignored. */
export const containsIgnoringCase = (
  text: Text,
  part: Expression<string> | string,
): EngineExpression<boolean> =>
  perEngine<boolean>({
    sqlite: sql`instr(lower(${text}), lower(${part})) > 0`,
    postgres: sql`strpos(lower(${text} COLLATE "C"), lower(${part} COLLATE "C")) > 0`,
  });

/** A member of a JSON object as a text; null if the object lacks it. */
export const readJsonMember = (json: Text, member: string): EngineExpression<string | null> =>
  perEngine<string | null>({
    sqlite: sql`json_extract(${json}, ${`$.${member}`})`,
    postgres: sql`${toReadableJson(json)} ->> ${member}`,
  });

/** Whether the list in a member of a JSON object contains all the texts. */
export function hasAllInMember(
  json: Text,
  member: string,
  list: TextList,
): EngineExpression<boolean> {
  const listJson = toJsonText(list);
  return perEngine<boolean>({
    sqlite: sql`NOT EXISTS (SELECT value FROM json_each(${listJson})
      EXCEPT SELECT value FROM json_each(${json}, ${`$.${member}`}))`,
    postgres: sql`${toReadableJson(json)} -> ${member} @> ${toReadableJson(listJson)}`,
  });
}

/** Aggregates texts into a sorted JSON list, which is empty if there are no texts. */
export const aggregateToJson = (text: Text): EngineExpression<string> =>
  perEngine<string>({
    sqlite: sql`json_group_array(${text} ORDER BY ${text})`,
    postgres: sql`coalesce(json_agg(${text} ORDER BY ${text}), '[]')::text`,
  });

/** Aggregates the values of each row to a JSON list of lists; an empty list if there is no row. */
export const aggregateListsToJson = (
  values: readonly Expression<unknown>[],
  order: Expression<unknown>,
): EngineExpression<string> =>
  perEngine<string>({
    sqlite: sql`json_group_array(json_array(${sql.join(values)}) ORDER BY ${order})`,
    postgres: sql`coalesce(json_agg(json_build_array(${sql.join(values)}) ORDER BY ${order}), '[]')::text`,
  });

/** Wraps a column for a condition, so that SQLite does not use an index on the column to evaluate the condition. */
export const withoutIndex = <Value>(column: Expression<Value>): EngineExpression<Value> =>
  perEngine<Value>({ sqlite: sql`+${column}`, postgres: column });

/**
 * A condition that is always true, and that aborts its query once the time limit of the connection has passed.
 * PostgreSQL has a time limit of its own for queries.
 *
 * @param column - a column whose value differs from row to row
 */
export const isWithinTimeLimit = (column: string): EngineExpression<boolean> =>
  perEngine<boolean>({ sqlite: sql.raw(withinDeadlineSql(column)), postgres: sql`true` });

/**
 * Converts a JSON text to `jsonb` in PostgreSQL. Strings in `jsonb` can't contain NUL or half of a surrogate pair, so
 * each escape of NUL or of a surrogate is replaced by U+FFFD, even in a complete pair, and a comparison does not find
 * texts that contain such an escape. A backslash that is itself escaped does not begin an escape.
 */
export const toReadableJson = (json: Text): Expression<string> =>
  sql`regexp_replace(${json}, '(?<!\\\\)((\\\\\\\\)*)\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\1\\\\ufffd', 'gi')::jsonb`;

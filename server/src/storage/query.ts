import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from "kysely";
import type { Compilable, Expression, OperationNodeSource } from "kysely";
import { compileFor } from "./dialect.ts";
import type { EngineName } from "./dialect.ts";

/** A query that the query builder has created. `Row` is the type of its rows. */
export type BuiltQuery<Row> = Compilable<Row> & OperationNodeSource;

/** The parameters of a query while it is built. There is no parameter for an optional value that was left out. */
export type Parameters<Values> = {
  readonly [Name in keyof Values]: Expression<Exclude<Values[Name], undefined>>;
};

/** The SQL of a query for one engine, and the parameters in the order of that SQL. */
export interface CompiledQuery {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/**
 * Builds queries over these tables. The builder runs nothing: a `Database` compiles queries for its engine and runs
 * them, so the dialect given here has no effect.
 */
export const createQueryBuilder = <Tables>(): Kysely<Tables> =>
  new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });

/** Marks the place of a named value among the parameters of a compiled query. */
class ParameterName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A query with named parameters. It is built when it first runs and compiled once per engine, because building costs
 * more than a small query itself. For a query whose form depends on its values, use {@link QueryForms}.
 */
export class Query<Row, Values> {
  readonly #build: (parameters: Parameters<Values>) => BuiltQuery<Row>;
  readonly #compiled = new Map<EngineName, CompiledQuery>();

  constructor(build: (parameters: Parameters<Values>) => BuiltQuery<Row>) {
    this.#build = build;
  }

  compileFor(engine: EngineName): CompiledQuery {
    const cached = this.#compiled.get(engine);
    if (cached !== undefined) {
      return cached;
    }
    const compiled = compileFor(engine, this.#build(createParameters<Values>()));
    this.#compiled.set(engine, compiled);
    return compiled;
  }
}

/** Parameters that are the values themselves, for a query that is built for one call. */
export const toParameters = <Values extends object>(values: Values): Parameters<Values> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, sql`${value}`]],
    ),
  ) as unknown as Parameters<Values>;

/**
 * The parameters of the named columns, for an insertion or an update. The names must be given, because `row` creates a
 * parameter only when its name is read, and therefore can't list its names.
 */
export const columnsOf = <Row, Name extends keyof Row>(
  row: Parameters<Row>,
  names: readonly Name[],
): Pick<Parameters<Row>, Name> =>
  Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Parameters<Row>, Name>;

/** The type of a row of the query that a function of type `Build` returns. */
export type RowOfBuilt<Build> = Build extends (...args: never) => Compilable<infer Row>
  ? Row
  : never;

/** The type of a row of a query. */
export type RowOf<Selected> = Selected extends Query<infer Row, infer _Values> ? Row : never;

/**
 * A query whose form depends on which of its optional values are given, and on options such as the order, for example a
 * list with filters. Each form is a {@link Query} of its own, which is built once and can then run with other values.
 * The forms that were used least recently are dropped.
 */
export class QueryForms<Row, Values extends object, Options = void> {
  readonly #build: (parameters: Parameters<Values>, options: Options) => BuiltQuery<Row>;
  readonly #forms = new Map<string, Query<Row, Values>>();

  constructor(build: (parameters: Parameters<Values>, options: Options) => BuiltQuery<Row>) {
    this.#build = build;
  }

  /** Selects the query for these values. Run it with the same values. */
  select(values: Values, options: Options): Query<Row, Values> {
    const givenNames: string[] = [];
    for (const [name, value] of Object.entries(values)) {
      if (value !== undefined) {
        givenNames.push(name);
      }
    }
    const form = `${givenNames.join()} ${JSON.stringify(options)}`;
    const query =
      this.#forms.get(form) ??
      new Query<Row, Values>(() => this.#build(createParameters<Values>(givenNames), options));
    this.#forms.delete(form);
    this.#forms.set(form, query);
    if (this.#forms.size > maxForms) {
      const [oldest] = this.#forms.keys();
      this.#forms.delete(String(oldest));
    }
    return query;
  }
}

/** Maximum number of forms. Each form takes some kilobytes, and so does its statement on each connection. */
const maxForms = 100;

/**
 * Creates a parameter for each name that the builder of a query reads.
 *
 * @param names - the names that have a parameter; all if omitted
 */
const createParameters = <Values>(names?: readonly string[]): Parameters<Values> =>
  new Proxy(
    {},
    {
      get: (_target, name) =>
        names === undefined || names.includes(String(name))
          ? sql`${new ParameterName(String(name))}`
          : undefined,
    },
  ) as Parameters<Values>;

/** The parameters of a compiled query, with values in place of names. */
export function bindValues(parameters: readonly unknown[], values: object): unknown[] {
  const valuesByName = values as Readonly<Record<string, unknown>>;
  return parameters.map((parameter) =>
    parameter instanceof ParameterName ? valuesByName[parameter.name] : parameter,
  );
}

/** The names of the parameters, for error messages; `undefined` for a parameter that is a value itself. */
export const nameParameters = (parameters: readonly unknown[]): readonly (string | undefined)[] =>
  parameters.map((parameter) => (parameter instanceof ParameterName ? parameter.name : undefined));

/**
 * Runs queries in the transaction of the caller. Integers are returned as numbers by every engine. Each method
 * rejects if its statement fails. With SQLite, the statement is complete when the method returns, but with other
 * engines it is not, so await each statement before running another one that depends on it.
 */
export interface Database {
  all<Row, Values extends object>(query: Query<Row, Values>, values: Values): Promise<Row[]>;
  all<Row>(query: BuiltQuery<Row>): Promise<Row[]>;
  /** Reads the first row. */
  first<Row, Values extends object>(
    query: Query<Row, Values>,
    values: Values,
  ): Promise<Row | undefined>;
  first<Row>(query: BuiltQuery<Row>): Promise<Row | undefined>;
  /** Returns the number of rows that changed. */
  run<Values extends object>(query: Query<unknown, Values>, values: Values): Promise<number>;
  run(query: BuiltQuery<unknown>): Promise<number>;
}

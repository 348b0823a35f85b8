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

/** A query of the builder whose rows have this type. */
export type BuiltQuery<Row> = Compilable<Row> & OperationNodeSource;

/** The parameters of a query while it is built. */
export type Parameters<Values> = { readonly [Name in keyof Values]: Expression<Values[Name]> };

/** SQL of one engine and its parameters in their order. */
export interface CompiledQuery {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/**
 * Builds queries over these tables. It only builds: a `Database` compiles queries for its engine and runs them, so
 * the dialect that is named here has no effect.
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

/** Stands for a value in the parameters of a compiled query. */
class ParameterName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A query with named parameters. It is built when it first runs and compiled once per engine, because building costs
 * more than a small query itself. A query whose form depends on its values is built for each call instead.
 */
export class Query<Row, Values> {
  readonly #build: (parameters: Parameters<Values>) => BuiltQuery<Row>;
  readonly #compiled = new Map<EngineName, CompiledQuery>();

  constructor(build: (parameters: Parameters<Values>) => BuiltQuery<Row>) {
    this.#build = build;
  }

  compileFor(engine: EngineName): CompiledQuery {
    const known = this.#compiled.get(engine);
    if (known !== undefined) {
      return known;
    }
    const compiled = compileFor(engine, this.#build(createParameters<Values>()));
    this.#compiled.set(engine, compiled);
    return compiled;
  }
}

/** The rows of a query. */
export type RowOf<Selected> = Selected extends Query<infer Row, infer _Values> ? Row : never;

/** Creates a parameter for each name that the builder of a query reads. */
const createParameters = <Values>(): Parameters<Values> =>
  new Proxy(
    {},
    { get: (_target, name) => sql`${new ParameterName(String(name))}` },
  ) as Parameters<Values>;

/** The parameters of a compiled query, with values in place of names. */
export const bindValues = (parameters: readonly unknown[], values: object): unknown[] =>
  parameters.map((parameter) =>
    parameter instanceof ParameterName
      ? (Reflect.get(values, parameter.name) as unknown)
      : parameter,
  );

/**
 * Runs queries, in the transaction of the caller. Integers are numbers in every engine. Each method rejects if its statement fails. The engine of one machine
 * answers at once, others later: await each statement before the next one that depends on it.
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

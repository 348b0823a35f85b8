// Stands for the parts of packages that `bundle.mjs` leaves out. It has only what these packages read when they are loaded.

/** Of pino: the key under which Fastify looks for the serializers of a log. */
export const symbols = { serializersSym: Symbol("serializers") };
export const stdSerializers = {};

/** Of semver. */
export const satisfies = () => true;

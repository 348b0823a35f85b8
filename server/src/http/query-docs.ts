/** Descriptions of query parameters that several routes have. */
export const pagingParameters = {
  limit: "Maximum number of items, up to 1,000; 100 by default.",
  offset: "Number of items to skip.",
};

/** The description of the query parameter that selects a version of a dataset. */
export const versionParameter = {
  as_of: "Version of the dataset: a tag or a time. Default: the latest version.",
};

/** The descriptions of the query parameters that select examples. */
export const exampleParameters = {
  ...versionParameter,
  id: "Ids of the examples; may be repeated.",
  splits: "Name of a split; the example must be in one of the named splits. May be repeated.",
  metadata: "JSON object that the metadata must contain.",
  full_text_contains:
    "Text that the inputs or outputs must contain, ignoring case. If repeated, they must contain all of the texts.",
  filter: "A filter expression.",
  order:
    "Sort order: recent (the default, last modified first), recently_created, id, written (order of creation), or random (with random_seed).",
  after: "Id of the example after which the list continues; only with the order written.",
  random_seed: "Seed of the random order.",
  descending: "Whether the order is descending: true or false.",
  select: "Members to return besides id, name, dataset_id, inputs and created_at.",
  ...pagingParameters,
};

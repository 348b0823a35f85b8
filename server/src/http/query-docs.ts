/** What query parameters do that several calls take. */
export const paging = {
  limit: "At most so many, up to 1,000; 100 where it is left out.",
  offset: "So many are skipped.",
};

export const asOf = {
  as_of: "The version: a tag, or a time at which it was so. The newest where it is left out.",
};

export const exampleFilters = {
  ...asOf,
  id: "Ids, any of which it has; may be repeated.",
  splits: "Splits, any of which it is in; may be repeated.",
  metadata: "JSON object that its metadata contains.",
  full_text_contains: "Part of its inputs or outputs, in either case; repeated: all of them.",
  filter: "An expression of the filter language.",
  order:
    "recent (the default: last written first), recently_created, id, written, or random with random_seed.",
  after: "Of the order written: the id of the example behind which the list goes on.",
  random_seed: "A number that names one random order.",
  descending: "true or false.",
  select: "Members that are shown beside id, name, dataset_id, inputs and created_at.",
  ...paging,
};

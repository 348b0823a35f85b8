import { Type } from "typebox";
import type { TSchema } from "typebox";
import {
  AnyObject,
  Bytes,
  Count,
  Flag,
  Id,
  IdOrNull,
  IsoTime,
  List,
  Maybe,
  Members,
  ObjectOrNull,
  Text,
  Time,
} from "../../http/schema-parts.ts";
import { fileUrlsSchema } from "../../runs/run-schemas.ts";

/** The members of an example in a response. Optional members are there only if the request selects them. */
const exampleMembers = {
  id: Id,
  name: Text,
  dataset_id: Id,
  inputs: AnyObject,
  created_at: IsoTime,
  modified_at: IsoTime,
  source_run_id: Type.Optional(IdOrNull),
  outputs: Type.Optional(ObjectOrNull),
  metadata: Type.Optional(AnyObject),
  attachment_urls: Type.Optional(fileUrlsSchema),
};

/** An example in a response. Handlers serialize it themselves, because payloads are copied as they were received. */
export const exampleSchema = Type.Object(exampleMembers, { title: "Example" });
/** The response body of requests that list examples. */
export const exampleListSchema = List(exampleSchema);

/** Creates the schema of an example with the runs of experiments on it. */
export const createExampleWithRunsSchema = (runSchema: TSchema, title: string) =>
  Type.Object({ ...exampleMembers, runs: List(runSchema) }, { title });

/** The response body of the example search. */
export const foundExamplesSchema = Type.Object({ examples: exampleListSchema });
/** The response body of requests that count examples. */
export const exampleCountSchema = Count;

/** The response body after several examples were deleted. */
export const deletedExamplesSchema = Type.Object(
  { count: Count, example_ids: List(Id) },
  { title: "DeletedExamples" },
);

const writtenMembers = { count: Count, example_ids: List(Id), as_of: IsoTime };
/** The response body after several examples were updated: their ids, and the time of the version that contains them. */
export const writtenExamplesSchema = Type.Object(writtenMembers, { title: "WrittenExamples" });
/**
 * The response body after several examples were created. `existing_count` of them existed already, with the same
 * content.
 */
export const createdExamplesSchema = Type.Object(
  { ...writtenMembers, existing_count: Count },
  { title: "CreatedExamples" },
);

/** Why examples do not match the schemas of their dataset, by example id. */
export const rejectedExamplesSchema = Type.Object({ rejected: Members(Text) });

const Splits = Maybe(Type.Union([Text, Type.Array(Text)]));

/** The members of an example in a request, except its dataset. Unknown members are ignored. */
const sentMembers = {
  id: Maybe(Id),
  inputs: Maybe(AnyObject),
  outputs: Maybe(AnyObject),
  metadata: Maybe(AnyObject),
  split: Splits,
  created_at: Maybe(Time),
  source_run_id: Maybe(Id),
  use_source_run_io: Maybe(Flag),
  use_source_run_attachments: Maybe(Type.Array(Text)),
};

/** Body of `POST /examples`. */
export const sentExampleSchema = Type.Object(
  { dataset_id: Id, ...sentMembers },
  { title: "SentExample" },
);
/** Body of `POST /examples/bulk`. */
export const sentExamplesSchema = List(sentExampleSchema);

/** Body of `POST /datasets/{id}/examples/check`. */
export const checkedExamplesSchema = List(
  Type.Object({ dataset_id: Maybe(Id), ...sentMembers }, { title: "CheckedExample" }),
);

const changeMembers = {
  dataset_id: Maybe(Id),
  inputs: Maybe(AnyObject),
  outputs: Maybe(AnyObject),
  metadata: Maybe(AnyObject),
  split: Splits,
  overwrite: Maybe(Flag),
  attachments_operations: Maybe(
    Type.Object({
      rename: Type.Optional(Members(Text)),
      retain: Type.Optional(Type.Array(Text)),
    }),
  ),
};

/** Body of `PATCH /examples/{id}`. */
export const exampleChangeSchema = Type.Object(changeMembers, { title: "ExampleChange" });

/** Body of `PATCH /examples/bulk`. */
export const exampleChangesSchema = List(
  Type.Object({ id: Id, ...changeMembers }, { title: "ExampleChangeItem" }),
);

/** Body of requests that contain examples as a multipart form: an object with a member for each part of the form. */
export const examplePartsSchema = Type.Unsafe<unknown>({
  ...Members(Type.Union([AnyObject, Bytes])),
  description:
    "Parts: `<id>` contains an example as JSON, `<id>.inputs` and `<id>.outputs` its payloads, `<id>.attachment.<name>` a file, `<id>.attachments_operations` which files an update renames and retains.",
});

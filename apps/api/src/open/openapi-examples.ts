import type { createDocument, oas32 } from "zod-openapi";

type Document = ReturnType<typeof createDocument>;
type Schema = oas32.SchemaObject;
type Schemas = Readonly<Record<string, Schema>>;

/**
 * Gives each body of a document an example made of the examples of its fields. A body that has examples keeps them. A
 * field without an example, and whose type doesn't imply one, is left out, which the linter reports.
 */
export function addExamples(document: Document): Document {
  const schemas = document.components?.schemas ?? {};
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of [path.get, path.post, path.put, path.patch, path.delete]) {
      for (const part of [operation?.requestBody, ...Object.values(operation?.responses ?? {})]) {
        const media = part?.content?.["application/json"];
        if (!media?.schema || media.examples) continue;
        const example = compose(media.schema, schemas);
        // After these operations, a key has no old secret.
        const isWithoutOldSecrets = operation?.operationId?.startsWith("revokeOld");
        media.example = isWithoutOldSecrets ? { ...Object(example), formerSecrets: [] } : example;
      }
    }
  }
  return document;
}

function compose(schema: Schema, schemas: Schemas): unknown {
  if (typeof schema === "boolean") return undefined;
  if (schema.$ref) return compose(schemas[schema.$ref.replace("#/components/schemas/", "")] ?? {}, schemas);
  const [alternative] = schema.anyOf ?? [];
  const [known] = [schema.example, schema.const, schema.default, schema.enum?.[0]].filter(
    (value) => value !== undefined,
  );
  if (known !== undefined) return known;
  if (alternative) return compose(alternative, schemas);
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, member]) => [name, compose(member, schemas)]),
      );
    case "array":
      return schema.items ? [compose(schema.items, schemas)] : [];
    case "boolean":
      return false;
    case "integer":
      return schema.minimum ?? 0;
    default:
      return undefined;
  }
}

/** The field names that a schema allows at `path`; none if there is no object at that place. */
import { z } from 'zod'

export function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const [first, ...deeper] = path
  return objectsOf(schema).flatMap((object) => {
    const shape = object.shape as Readonly<Record<string, z.ZodType>>
    if (first === undefined) return Object.keys(shape)
    const field = Object.hasOwn(shape, first) ? shape[String(first)] : undefined
    return field === undefined ? [] : fieldsAt(field, deeper)
  })
}

/** Looks into every form of a union, and into optional, nullable and default values. */
function objectsOf(schema: z.ZodType): readonly z.ZodObject[] {
  if (schema instanceof z.ZodObject) return [schema]
  if (schema instanceof z.ZodUnion) {
    return (schema.options as readonly z.ZodType[]).flatMap(objectsOf)
  }
  const wraps =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
  return wraps ? objectsOf(schema.unwrap() as z.ZodType) : []
}

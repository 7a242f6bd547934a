/**
 * A body that may have one of several forms. If all were tried, a mistake in one form would be
 * answered with complaints about the others. So the fields of the body choose one form, and only
 * that one is checked.
 */
import { z } from 'zod'

type Pick = (body: unknown) => z.ZodType

const pickers = new WeakMap<z.ZodType, Pick>()

export function pickedBy<T extends z.ZodType>(schema: T, pick: Pick): T {
  pickers.set(schema, pick)
  return schema
}

export function formFor(schema: z.ZodType, body: unknown): z.ZodType {
  return pickers.get(schema)?.(body) ?? schema
}

/** For a body that has none of the forms, or several: refuses it because of this field. */
export function noForm(field: string, message: string): z.ZodType {
  return z.unknown().superRefine((_body, context) => {
    context.addIssue({ code: 'custom', path: [field], message, params: { shape: true } })
  })
}

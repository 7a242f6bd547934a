/**
 * A body that may have one of several forms. Trying them all would answer a slip in one form with
 * complaints about the other, so a form is picked by what the body holds and only that one speaks.
 */
import type { z } from 'zod'

type Pick = (body: unknown) => z.ZodType

const pickers = new WeakMap<z.ZodType, Pick>()

export function pickedBy<T extends z.ZodType>(schema: T, pick: Pick): T {
  pickers.set(schema, pick)
  return schema
}

export function formFor(schema: z.ZodType, body: unknown): z.ZodType {
  return pickers.get(schema)?.(body) ?? schema
}

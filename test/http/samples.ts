/**
 * Builds a valid request for any endpoint from its schema alone, so that tests can change one part
 * of it at a time, and a new endpoint is tested without being added to a list.
 */
import fc from 'fast-check'
import { z } from 'zod'
import { formFor } from '../../src/contract.ts'

export interface Shape {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly allOf?: readonly Shape[]
  readonly anyOf?: readonly Shape[]
  readonly oneOf?: readonly Shape[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
}

/** The forms an object may have; most have one. */
export function shapesOf(schema: unknown): readonly Shape[] {
  if (!(schema instanceof z.ZodType)) return []
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const named = json.$defs ?? {}
  const shape = json as Shape
  return (shape.anyOf ?? shape.oneOf ?? [shape]).map(({ $ref, ...rest }) => ({
    ...rest,
    ...(($ref === undefined ? {} : named[$ref.replace('#/$defs/', '')]) as Shape),
  }))
}

export function sampleOf(shape: Shape): unknown {
  const first = shape.anyOf?.[0]
  if (first !== undefined) return sampleOf(first)
  if (shape.examples !== undefined) return shape.examples[0]
  if (shape.enum !== undefined) return shape.enum[0]
  if (shape.const !== undefined) return shape.const
  switch (shape.type) {
    case 'object':
      return sampleObject(shape)
    case 'array':
      return shape.items === undefined ? [] : [sampleOf(shape.items)]
    case 'integer':
      return Math.max(shape.minimum ?? 1, 1)
    case 'boolean':
      return true
    case 'string':
      return sampleText(shape)
    default:
      return { any: ['json'] }
  }
}

/** All fields, except where two of them would contradict each other. */
function sampleObject(shape: Shape): Record<string, unknown> {
  const fields = Object.entries(shape.properties ?? {})
  return Object.fromEntries(fields.map(([name, field]) => [name, sampleOf(field)]))
}

function sampleText(shape: Shape): string {
  if (shape.format === 'uri') return 'https://example.test/'
  const pattern = shape.pattern ?? shape.allOf?.find((part) => part.pattern)?.pattern
  if (pattern === undefined || new RegExp(pattern, 'u').test('x')) return 'x'
  const [text] = fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: 1, seed: 1 })
  return text ?? 'x'
}

/** Whether a text may have several lines. */
export function isProse(shape: Shape): boolean {
  const plain = shape.pattern === undefined && shape.allOf === undefined
  return shape.type === 'string' && plain && !shape.format && !shape.minLength && !shape.enum
}

export const accepts = (schema: z.ZodType, body: unknown): boolean =>
  formFor(schema, body).safeParse(body).success

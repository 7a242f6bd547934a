/**
 * Goal: the guide of the library lists every field of every call and every code of a conflict, and
 * no others.
 * Method: its tables are compared with the schemas that check the calls: names, required fields,
 * defaults and allowed values.
 */
import { githubChannels, publishForms } from '../channels/github-channels.ts'
import { lineComment } from '../channels/github-review.ts'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import type { LossCode } from '../domain/hold.ts'
import { callSchemas, camelName } from './requests.ts'

const guide = readFileSync(new URL('../../docs/guides/library.md', import.meta.url), 'utf8')

interface Row {
  readonly field: string
  readonly type: string
  readonly otherwise: string
}

/** The first table after a line that begins like this. */
function tableBehind(start: string): readonly Row[] {
  const [, after = ''] = guide.split(`\n${start}`)
  const lines = after.split('\n')
  const first = lines.findIndex((line) => line.startsWith('|'))
  const rest = lines.slice(first)
  const end = rest.findIndex((line) => !line.startsWith('|'))
  return rest.slice(2, end).map((line) => {
    const [, field = '', type = '', , otherwise = ''] = line
      .replaceAll('\\|', '¦')
      .split('|')
      .map((cell) => cell.trim())
    return { field: field.replaceAll('`', ''), type, otherwise }
  })
}

/** Without the part that makes it optional. */
function inner(schema: z.ZodType): z.ZodType {
  const wraps = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
  return wraps ? inner(schema.unwrap() as z.ZodType) : schema
}

const tables: readonly (readonly [string, z.ZodObject])[] = [
  ['### `checkAndClaimRun(claim, options?)`', callSchemas.claim],
  ['`options`:', callSchemas.gateOptions],
  ['### `gate.complete(completion?)`', callSchemas.completion],
  ...githubChannels.map((channel) => [`\`${channel}\``, publishForms[channel].form] as const),
  ['Each of `comments`', lineComment],
]

describe.each(tables)('the table after %s', (start, schema) => {
  const fields = Object.entries<z.ZodType>(schema.shape)
  const shape = Object.fromEntries(fields.map(([name, form]) => [camelName(name), form]))
  const rows = tableBehind(start)

  it('has every field, and no other', () => {
    expect(rows.map(({ field }) => field)).toEqual(Object.keys(shape))
  })

  it.each(rows)('says what $field is when it is left out', ({ field, otherwise }) => {
    const form = shape[field] ?? z.never()
    const isRequired = !form.safeParse(undefined).success
    expect(otherwise === 'required').toBe(isRequired)
    expect(otherwise).not.toBe('')
    if (form instanceof z.ZodDefault)
      expect(otherwise).toBe(`\`'${String(form.parse(undefined))}'\``)
  })

  it.each(rows)('has the values that $field can have', ({ field, type }) => {
    const form = inner(shape[field] ?? z.never())
    const values = form instanceof z.ZodEnum ? form.options : []
    expect(values.filter((value) => !type.includes(`'${String(value)}'`))).toEqual([])
  })
})

test.each(['holdfast.config.mts', 'bot.mts'])(
  'the guide shows %s as it is in examples/bot',
  (name) => {
    const file = readFileSync(new URL(`../../examples/bot/${name}`, import.meta.url), 'utf8')
    const withoutHead = file.replace(/^\/\*\*.*?\*\/\n/s, '')
    expect(guide).toContain(`\`\`\`ts\n${withoutHead}\`\`\``)
  },
)

describe('the table of conflicts', () => {
  /** Codes of operator commands, and of an answer that a run's own delivery never gets. */
  const outOfReach = [
    ...['already_sent', 'key_differs', 'not_active', 'not_published', 'step_not_held'],
  ]
  const losses = { superseded: 1, cancelled: 1, ended: 1, lease_lost: 1 } as const
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const made = globSync('src/{library,runs,stores}/**/*.ts', {
    cwd: root,
    exclude: ['**/*.test.ts'],
  }).flatMap((file) => [
    ...readFileSync(join(root, file), 'utf8').matchAll(/new ConflictError\(\s*'([a-z_]+)'/g),
  ])

  it('has every code that a program can meet, and no other', () => {
    const codes = new Set([
      ...made.map(([, code = '']) => code),
      ...Object.keys(losses satisfies Readonly<Record<LossCode, unknown>>),
    ])
    const met = [...codes].filter((code) => !outOfReach.includes(code))
    const listed = tableBehind('`ConflictError` has one of').map(({ field }) => field)
    expect(listed.toSorted()).toEqual(met.toSorted())
  })
})

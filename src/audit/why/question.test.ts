import { expect, it } from 'vitest'
import { readQuestion } from './question.ts'

const widgets = { of: 'thread', repo: 'acme/widgets', number: 5 }

it.each([
  'acme/widgets#5',
  ' Acme/Widgets#5 ',
  'acme/widgets/pull/5',
  'acme/widgets/issues/5',
  'github.com/acme/widgets/pull/5',
  'https://github.com/Acme/widgets/pull/5',
  'https://github.com/acme/widgets/pull/5/files?w=1#diff-0',
  'https://github.example.com:8443/acme/widgets/issues/5#issuecomment-1',
])('%j is about the pull request', (query) => {
  expect(readQuestion(query)).toEqual(widgets)
})

it('a repository may have dots in its name', () => {
  const question = { of: 'thread', repo: 'acme/widgets.js', number: 5 }
  expect(readQuestion('acme/widgets.js#5')).toEqual(question)
  expect(readQuestion('acme/widgets.js/pull/5')).toEqual(question)
})

it('ids are recognized by their form', () => {
  expect(readQuestion('run_01kdwq')).toEqual({ of: 'run', id: 'run_01kdwq' })
  expect(readQuestion('inb_01kdwq')).toEqual({ of: 'webhook', id: 'inb_01kdwq', sure: true })
  expect(readQuestion('del_01kdwq')).toEqual({ of: 'delivery', id: 'del_01kdwq' })
  const guid = '72d3162e-cc78-11e3-81ab-4c9367dc0958'
  expect(readQuestion(guid)).toEqual({ of: 'webhook', id: guid, sure: true })
})

it('any other word is looked for as a webhook’s GUID, but marked as unsure', () => {
  expect(readQuestion('my-guid')).toEqual({ of: 'webhook', id: 'my-guid', sure: false })
})

it.each(['', ' ', 'two words', 'acme/widgets #5', 'x'.repeat(201), 'line\nbreak'])(
  '%j is not a question',
  (query) => expect(readQuestion(query)).toBeNull(),
)

it.each([
  'acme/widgets',
  'acme/widgets#0',
  'acme/widgets#x',
  '#5',
  'acme/..#5',
  'a/b#1234567890123456',
])('%j is not a pull request', (query) => expect(readQuestion(query)?.of).not.toBe('thread'))

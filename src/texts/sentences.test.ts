import { describe, expect, it } from 'vitest'
import { clauses, sentence } from './sentences.ts'

describe('a sentence', () => {
  it.each([
    ['it is gone', 'it is gone.'],
    ['did you mean body?', 'did you mean body?'],
    ['GitHub said: no.', 'GitHub said: no.'],
    ['it was too long…', 'it was too long…'],
    ['it said “why?”', 'it said “why?”.'],
  ])('ends correctly: %s', (words, whole) => {
    expect(sentence(words)).toBe(whole)
  })
})

it('clauses are joined with a semicolon, but a question ends its own sentence', () => {
  expect(clauses(['bdoy is not a known field. Did you mean "body"?', 'a is 1', 'b is 2'])).toBe(
    'bdoy is not a known field. Did you mean "body"? a is 1; b is 2',
  )
  expect(clauses(['a is 1'])).toBe('a is 1')
  expect(clauses([])).toBe('')
})

import { expect, test } from 'vitest'
import { fitText, wrapMessage } from './fit-text.ts'

test('text for a file or a pipe is not broken', () => {
  const text = `${'word '.repeat(50)}\n`
  expect(fitText(text, null)).toBe(text)
})

test.each([
  ['a b c d e f\n', 20, 'a b c d e f\n'],
  ['one two three four\n', 10, 'one two\nthree four\n'],
  ['  one two three four\n', 12, '  one two\n  three four\n'],
  ['  - one two three four\n', 14, '  - one two\n    three four\n'],
  ['  mode     one two three four five\n', 27, '  mode     one two three\n           four five\n'],
  ['  a-long-first-column  one two\n', 24, '  a-long-first-column\n    one two\n'],
  ['  holdfast runs --all  one two\n', 24, '  holdfast runs --all\n    one two\n'],
])('%j in %i columns is %j', (text, columns, fitted) => {
  expect(fitText(text, columns)).toBe(fitted)
})

test.each([
  '  holdfast deliveries retry --all --channel github-comment',
  '  HOLDFAST_TOKEN_FILE=admin holdfast token create --scope read',
])('the command %j is not broken', (line) => {
  expect(fitText(line, 20)).toBe(line)
})

test.each([
  ['Fix it: chmod 700 /var/lib/holdfast', ['Fix it:', 'chmod 700 /var/lib/holdfast']],
  ['Run: createdb my_books. Check it.', ['Run:', 'createdb my_books.', 'Check it.']],
  ['Use "holdfast token list" now.', ['Use', '"holdfast token list"', 'now.']],
  ['Migrate it: holdfast migrate. Then go', ['Migrate it:', 'holdfast migrate.', 'Then go']],
])('a command in %j stays on one line', (message, lines) => {
  expect(wrapMessage(message, 18)).toEqual(lines)
})

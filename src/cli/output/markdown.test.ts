// Goal: Markdown is readable on a terminal, and nothing in it can control the terminal.
import { describe, expect, test } from 'vitest'
import { markdownLines } from './markdown.ts'
import { paintFor } from './paint.ts'
import { textWidth } from './text-width.ts'

const shown = (markdown: string, width = 40): readonly string[] =>
  markdownLines(markdown, width, paintFor(false))

describe('each part of Markdown', () => {
  test.each<[string, string, string[]]>([
    ['a heading', '## Two **problems**', ['Two problems']],
    ['emphasis and code', '**a** *b* ~~c~~ `d*e`', ['a b c d*e']],
    ['a link', '[docs](https://example.com/x)', ['docs (https://example.com/x)']],
    ['an address', 'https://example.com/x', ['https://example.com/x']],
    ['an image', '![chart](https://example.com/i.png)', ['[image: chart]']],
    [
      'a list',
      '- one\n- two\n  1. three\n  2. four',
      ['- one', '- two', '  1. three', '  2. four'],
    ],
    ['tasks', '- [ ] todo\n- [x] done', ['- [ ] todo', '- [x] done']],
    ['a quotation', '> one\n>\n> two', ['> one', '>', '> two']],
    ['code', '```ts\nif (x)\n  y()\n```', ['  if (x)', '    y()']],
    ['a table', '| a | b |\n|---|---|\n| long | 2 |', ['a     b', 'long  2']],
    ['a fold', '<details><summary>More</summary>\n\ntext\n\n</details>', ['▸ More', '', 'text']],
    ['a comment', 'one\n\n<!-- marker -->\n\ntwo', ['one', '', 'two']],
    ['entities', 'a &lt;b&gt; &amp; &#39;c&#x27;', ["a <b> & 'c'"]],
    ['escapes', '1\\. \\*not bold\\*', ['1. *not bold*']],
    ['line breaks', 'one\ntwo  \nthree', ['one', 'two', 'three']],
    ['what keeps words from acting', '@\u200bmona', ['@mona']],
  ])('%s', (_name, markdown, lines) => {
    expect(shown(markdown)).toEqual(lines)
  })
})

test('lines are filled, and broken only between words', () => {
  const text = 'A **rather long** sentence with `some code` and a word that goes on.'
  expect(shown(text, 24)).toEqual([
    'A rather long sentence',
    'with some code and a',
    'word that goes on.',
  ])
  expect(shown(`- ${text}`, 24)).toEqual([
    '- A rather long sentence',
    '  with some code and a',
    '  word that goes on.',
  ])
  for (const line of shown('日本語のとても長い文章です。'.repeat(5), 24)) {
    expect(textWidth(line)).toBeLessThanOrEqual(24)
  }
})

test('a table that is too wide becomes a block for each row', () => {
  const row = '| a title | the other |\n|---|---|\n| some words | and more words |\n| 1 | 2 |'
  expect(shown(row, 22)).toEqual([
    'a title: some words',
    'the other: and more',
    'words',
    '',
    'a title: 1',
    'the other: 2',
  ])
})

test('colour codes do not count as width', () => {
  const painted = markdownLines('a **bold word** b', 8, paintFor(true))
  expect(painted).toEqual(['a\x1b[1m bold\x1b[22m', '\x1b[1mword\x1b[22m b'])
})

test.each(['\x1b[2J', '&#27;[2J', '`\x1b[2J`', '[\x1b[2J](http://x/\x1b[2J)', '    \x1b[2J'])(
  'the terminal does not obey %j',
  (markdown) => {
    expect(shown(markdown).join('\n')).not.toContain('\x1b')
  },
)

test('an empty text shows nothing', () => {
  expect(shown('')).toEqual([])
  expect(shown('<!-- only a marker -->')).toEqual([])
})

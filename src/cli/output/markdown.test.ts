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

describe('what people may write to harm the terminal', () => {
  const hostile: Readonly<Record<string, string>> = {
    'a line in deep quotations': `${'> '.repeat(60)}---`,
    'a line in deep lists': Array.from({ length: 60 }, (_, at) => `${'  '.repeat(at)}- a`)
      .concat(`${'  '.repeat(60)}***`)
      .join('\n'),
    quotations: '>'.repeat(65_000),
    'quotations with a word': `${'>'.repeat(3000)} x`,
    'lists in one line': `${'- '.repeat(32_000)}x`,
    'numbers in one line': '1. '.repeat(21_000),
    'tasks in one line': '- [ ] '.repeat(100),
    'both in one line': `${'> - '.repeat(3000)}x`,
    'emphasis that never ends': '_a*'.repeat(21_000),
    'emphasis in emphasis': `${'*'.repeat(32_000)}a${'*'.repeat(32_000)}`,
    backslashes: '\\'.repeat(65_000),
    'an address that never ends': `${'a.'.repeat(32_000)}@`,
    'tags that never end': '<a'.repeat(32_000),
    'comments that never end': '<!--'.repeat(16_000),
    'a table of many cells': `${'|a'.repeat(8000)}\n${'|-'.repeat(8000)}\n${'|\n'.repeat(16_000)}`,
    'a code for the terminal, too deep': `${'> '.repeat(60)}\x1b[2J`,
    'a code for the terminal, too long': '*\x1b[2J '.repeat(5000),
  }

  test.each(
    Object.entries(hostile).flatMap(([name, text]) =>
      [20, 60, 120].map((width) => [name, width, text] as const),
    ),
  )('%s, in %d columns, is shown', (_name, width, text) => {
    const lines = shown(text, width)
    expect(lines.join('')).not.toBe('')
    expect(lines.join('\n')).not.toContain('\x1b')
    // Only a word that is longer than a line makes a line too long.
    const tooLong = lines.filter((line) => textWidth(line) > width)
    expect(tooLong.filter((line) => line.replace(/^(> |- |\d+\. | )+/, '').includes(' '))).toEqual(
      [],
    )
  })

  test('what does not fit beside its marks is shown as it was written', () => {
    const deep = '> > > > > > some words'
    expect(shown(deep, 40)).toEqual([deep])
    expect(shown(deep, 20)).toEqual(['> > > > > > some', '> > > > > words'])
    expect(shown('- a\n  - b\n    - [x] c', 14)).toEqual(['- a', '  - b', '    - [x] c'])
    expect(shown('---', 0)).toEqual(['─'])
  })
})

test('a tag that does not end is text, and a comment ends at its own end', () => {
  expect(shown('a <b>c</b> <i')).toEqual(['a c <i'])
  expect(shown('<div>a<!-- > -->b<br/>c</div>')).toEqual(['ab', 'c'])
  expect(shown('<div>a<!-- b>c')).toEqual(['ac'])
})

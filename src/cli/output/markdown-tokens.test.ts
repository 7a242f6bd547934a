// Goal: no text makes the parser fail, or read much more than the text has. Ordinary text, however
// long, is parsed. Method: the characters that marked gets to read are counted, not the time.
import { Tokenizer, type Token, type Tokens } from 'marked'
import { afterEach, expect, test, vi } from 'vitest'
import { depthMax, inlineLengthMax, markdownTokens } from './markdown-tokens.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** How many characters marked read: in each step it gets all that is left of the text. */
function inlineReads(markdown: string): number {
  const spy = vi.spyOn(Tokenizer.prototype, 'escape')
  markdownTokens(markdown)
  const reads = spy.mock.calls.reduce((sum, [src]) => sum + src.length, 0)
  spy.mockRestore()
  return reads
}

const types = (tokens: readonly Token[]): readonly string[] => tokens.map(({ type }) => type)
const inside = (token: Token | undefined): readonly Token[] =>
  (token as { readonly tokens?: Token[] } | undefined)?.tokens ?? []

test('a paragraph that is too long is not parsed, and those around it are', () => {
  const long = '*a* '.repeat(inlineLengthMax / 4) + 'b'
  const spy = vi.spyOn(Tokenizer.prototype, 'inlineText')
  const [before, , paragraph, , after] = markdownTokens(`one *x*\n\n${long}\n\ntwo *y*`)
  expect(types(inside(before))).toEqual(['text', 'em'])
  expect(inside(paragraph)).toEqual([{ type: 'plain', raw: long }])
  expect(types(inside(after))).toEqual(['text', 'em'])
  expect(spy.mock.calls.map(([src]) => src)).toEqual(['one *x*', 'x', 'two *y*', 'y'])
})

test.each(['_a*', '\\', 'a.', '**a', '~~a', '*a **b ', '<', '![a](', '&#39;*'])(
  'a paragraph of %j costs at most a fixed number of reads',
  (part) => {
    const text = `${part.repeat(inlineLengthMax / part.length - 1)}@`
    expect(inlineReads(text)).toBeLessThanOrEqual(400_000)
    expect(inlineReads(`${text}\n\n`.repeat(8))).toBeLessThanOrEqual(8 * 400_000)
  },
)

test('what is nested too deep is shown as written', () => {
  for (const mark of ['> ', '- ', '1. ', '> - ']) {
    let [token] = markdownTokens(`${mark.repeat(5000)}x`)
    let depth = 0
    while (token !== undefined && token.type !== 'plain') {
      const [item] = (token as { readonly items?: Token[] }).items ?? [token]
      ;[token] = inside(item)
      depth += 1
    }
    expect(depth).toBe(depthMax)
    expect(token?.raw).toMatch(/^[>\-1]/)
  }
  const [list] = markdownTokens(`${'- '.repeat(depthMax - 1)}x`)
  expect(JSON.stringify(list)).not.toContain('"plain"')
})

test('a quotation that marked would parse again for each of many lines is not parsed', () => {
  const lines = '> - a\nb\n'
  expect(JSON.stringify(markdownTokens(lines.repeat(50)))).not.toContain('"plain"')
  const list = vi.spyOn(Tokenizer.prototype, 'list')
  const [quotation, , after] = markdownTokens(`${lines.repeat(5000)}\n*c*`)
  expect(types(inside(quotation))).toEqual(['plain'])
  expect(types(inside(after))).toEqual(['em'])
  expect(list.mock.calls.length).toBeLessThan(5)
})

test('a text whose nested parts are parsed too often is shown as written', () => {
  const list = vi.spyOn(Tokenizer.prototype, 'list')
  const long = { type: 'list', raw: '- a', items: [] } as unknown as Tokens.List
  list.mockReturnValue({ ...long, raw: 'x'.repeat(1000) })
  expect(markdownTokens('- a')).toEqual([{ type: 'plain', raw: '- a' }])
})

test('a table with too many cells is not filled up', () => {
  const wide = `${'|a'.repeat(8000)}\n${'|-'.repeat(8000)}\n${'|\n'.repeat(16_000)}`
  expect(types(markdownTokens(wide))).not.toContain('table')
  const long = `|a|b|\n|-|-|\n${'|x|y|\n'.repeat(5000)}`
  expect(types(markdownTokens(long))).toEqual(['table'])
})

test('a fault in marked does not hide the text', () => {
  vi.spyOn(Tokenizer.prototype, 'paragraph').mockImplementation(() => {
    throw new Error('Infinite loop on byte: 97')
  })
  expect(markdownTokens('a *b*')).toEqual([{ type: 'plain', raw: 'a *b*' }])
})

test('an ordinary long comment is parsed everywhere', () => {
  const sentence =
    'The **cache** of [the client](https://example.com/a_b) keeps `old_values`, see #5. '
  const section = `## Part\n\n${sentence.repeat(30)}\n\n- ${sentence}\n  - ${sentence}\n\n`
  const comment = section.repeat(22)
  expect(comment.length).toBeGreaterThan(55_000)
  expect(JSON.stringify(markdownTokens(comment))).not.toContain('"plain"')
})

// Goal: a result mark says which commits have a result, and text from outside cannot contain one.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withMarker } from './marker.ts'
import { readResultMark, resultMark, withResultMark } from './result-mark.ts'
import { safeLine, safeText } from './text/safe-text.ts'

const pair = (base: string, head: string, length = 40) =>
  `base-${base.repeat(length)}:head-${head.repeat(length)}`
const mark = { type: 'review', pairs: [pair('b', 'a'), pair('d', 'c', 64)] }
const key = { id: 'k1', secret: 'a secret' }

describe('a result mark', () => {
  it('is read as it was written, also in front of a marker', () => {
    const text = withResultMark('Hello', resultMark(mark))
    expect(text).toBe(
      `Hello\n\n<!-- holdfast:result review ${pair('b', 'a')} ${pair('d', 'c', 64)} -->`,
    )
    expect(readResultMark(text)).toEqual(mark)
    const of = { repoGithubId: 1, ownRepositoryIds: [], thread: 5, markerKey: 'k' }
    expect(readResultMark(withMarker(text, of, { current: key, all: [key] }))).toEqual(mark)
  })

  it('is left out if there is no result', () => {
    expect(withResultMark('Hello', resultMark({ type: 'review', pairs: [] }))).toBe('Hello')
    expect(readResultMark('Hello')).toBeNull()
  })

  it('counts only if it is the last one', () => {
    const other = { type: 'lint', pairs: [pair('e', 'f')] }
    expect(readResultMark(`${resultMark(other)} ${resultMark(mark)} the end`)).toEqual(mark)
  })

  it('that is incomplete does not count', () => {
    const written = resultMark(mark)
    for (const broken of [
      written.replace('-->', ''),
      written.replace('base-b', 'base-'),
      written.replace('review ', ''),
      written.replace('holdfast:result', 'holdfast:1'),
    ]) {
      expect(readResultMark(broken)).toBeNull()
    }
  })

  it.each([
    ['in prose', (text: string) => `Fine. ${text}`],
    ['on a line of its own', (text: string) => `Fine.\n\n${text}`],
    ['in a block of code', (text: string) => '```\n' + text + '\n```'],
    ['in a line of code', (text: string) => '`' + text + '`'],
    ['in indented code', (text: string) => `    ${text}`],
    ['in a fold', (text: string) => `<details>\n<summary>${text}</summary>\n</details>`],
  ])('in text from outside is removed: %s', (_where, put) => {
    expect(readResultMark(put(resultMark(mark)))).toEqual(mark)
    expect(readResultMark(safeText(put(resultMark(mark))))).toBeNull()
  })

  it('in text from outside is removed, whatever is around it', () => {
    const around = fc.string({
      unit: fc.constantFrom('`', '<', '!', '-', '>', ' ', '\n', '~', 'x'),
    })
    fc.assert(
      fc.property(around, around, (before, after) => {
        const text = `${before}${resultMark(mark)}${after}`
        expect(readResultMark(safeText(text))).toBeNull()
        expect(readResultMark(safeLine(text, 1000))).toBeNull()
      }),
      { numRuns: 500, seed: 12 },
    )
  })
})

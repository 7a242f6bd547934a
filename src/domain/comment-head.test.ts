// Goal: a command in a comment is applied only to a head that was the head before it was written.
import { describe, expect, it } from 'vitest'
import { isBeforeComment, type NamedHead } from './comment-head.ts'
import type { HeardHead } from './inbox.ts'

const at = (second: number): number => second * 1000
const heard = (headSha: string, second: number, by: HeardHead['by'] = 'event'): HeardHead => {
  return { headSha, at: at(second), by }
}
const named = (headSha: string, over: Partial<NamedHead> = {}): NamedHead => {
  return { headSha, updatedAt: at(12), pushedAt: at(11), ...over }
}
/** Of a comment written in second 10. */
const applies = (head: NamedHead, ...events: readonly HeardHead[]): boolean =>
  isBeforeComment(at(10), head, events)

describe('what was heard', () => {
  it.each([
    ['a push before the comment', 'a', [heard('a', 9)], true],
    ['a push after the comment', 'b', [heard('a', 1), heard('b', 11)], false],
    ['a push in the second of the comment', 'b', [heard('b', 10)], false],
    ['a label on it before the comment', 'b', [heard('b', 9, 'mention')], true],
    ['a look at it before the comment', 'b', [heard('b', 9, 'look')], true],
    ['a label on it after the comment', 'b', [heard('b', 11, 'mention')], false],
    ['nothing but another head', 'b', [heard('a', 1)], false],
    ['that it was replaced since', 'b', [heard('b', 1), heard('c', 5)], false],
    [
      'that it came back before the comment',
      'b',
      [heard('b', 1), heard('c', 5), heard('b', 6)],
      true,
    ],
    [
      'that it came back after the comment',
      'b',
      [heard('b', 1), heard('c', 5), heard('b', 11)],
      false,
    ],
    ['that it came back, but not what replaced it', 'b', [heard('b', 1), heard('b', 11)], false],
    ['another head in its second', 'b', [heard('b', 5), heard('c', 5)], false],
    [
      'another head in its second, and that it came back after the comment',
      'b',
      [heard('b', 5), heard('c', 5), heard('b', 11)],
      false,
    ],
    [
      'another head in its second, and a label on it before the comment',
      'b',
      [heard('b', 5), heard('c', 5), heard('b', 6, 'mention')],
      true,
    ],
    ['nothing', 'b', [], false],
  ])('%s', (_what, headSha, events, expected) => {
    expect(applies(named(headSha), ...events)).toBe(expected)
  })
})

describe('what GitHub says', () => {
  it('no push to its repository since before the comment is enough', () => {
    expect(applies(named('b', { pushedAt: at(9) }))).toBe(true)
    expect(applies(named('b', { pushedAt: at(9) }), heard('a', 1))).toBe(true)
    expect(applies(named('b', { pushedAt: at(10) }))).toBe(false)
    expect(applies(named('b', { pushedAt: null }))).toBe(false)
  })

  it('but not when an event made it the head since, as reopening does', () => {
    expect(applies(named('b', { pushedAt: at(9) }), heard('a', 1), heard('b', 11))).toBe(false)
  })

  it('with two heads in one second, no push since before the comment is enough', () => {
    const both = [heard('b', 5), heard('c', 5)]
    expect(applies(named('b', { pushedAt: at(9) }), ...both)).toBe(true)
    expect(applies(named('b', { pushedAt: null }), ...both)).toBe(false)
  })

  it('marked ready since, with no push since before the comment, it was the head', () => {
    const events = [heard('b', 5), heard('b', 11)]
    expect(applies(named('b', { pushedAt: at(9) }), ...events)).toBe(true)
    expect(applies(named('b', { pushedAt: null }), ...events)).toBe(false)
  })

  it('an answer from before the comment names a head from before it', () => {
    expect(applies(named('b', { updatedAt: at(9) }))).toBe(true)
    expect(applies(named('b', { updatedAt: at(10) }))).toBe(false)
  })
})

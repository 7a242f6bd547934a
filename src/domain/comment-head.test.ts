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
    ['a push before the comment', [heard('a', 9)], true],
    ['a push after the comment', [heard('a', 1), heard('b', 11)], false],
    ['a push in the second of the comment', [heard('b', 10)], false],
    ['a label on it before the comment', [heard('b', 9, 'mention')], true],
    ['a look at it before the comment', [heard('b', 9, 'look')], true],
    ['a label on it after the comment', [heard('b', 11, 'mention')], false],
    ['nothing but another head', [heard('a', 1)], false],
    ['that it was replaced since', [heard('b', 1), heard('c', 5)], false],
    ['that it came back before the comment', [heard('b', 1), heard('c', 5), heard('b', 6)], true],
    ['that it came back after the comment', [heard('b', 1), heard('c', 5), heard('b', 11)], false],
    ['nothing', [], false],
  ])('%s', (_what, events, expected) => {
    const head = events.length === 1 && events[0]?.by === 'event' ? events[0].headSha : 'b'
    const ofOther = _what === 'nothing but another head'
    expect(applies(named(ofOther ? 'b' : head), ...events)).toBe(expected)
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

  it('an answer from before the comment names a head from before it', () => {
    expect(applies(named('b', { updatedAt: at(9) }))).toBe(true)
    expect(applies(named('b', { updatedAt: at(10) }))).toBe(false)
  })
})

// Goal: a command in a comment is applied to a head only if it was the head before the comment was
// written.
import { describe, expect, it } from 'vitest'
import { isBeforeComment, type NamedHead } from './comment-head.ts'
import type { EventHead } from './inbox.ts'

const at = (second: number): number => second * 1000
const headFrom = (headSha: string, second: number, by: EventHead['by'] = 'event'): EventHead => {
  return { headSha, at: at(second), by }
}
const named = (headSha: string, over: Partial<NamedHead> = {}): NamedHead => {
  return { headSha, updatedAt: at(12), pushedAt: at(11), ...over }
}
/** For a comment that was written in second 10. */
const applies = (head: NamedHead, ...events: readonly EventHead[]): boolean =>
  isBeforeComment(at(10), head, events)

describe('whether the stored events show that the head is older than the comment', () => {
  it.each([
    ['a push before the comment', 'a', [headFrom('a', 9)], true],
    ['a push after the comment', 'b', [headFrom('a', 1), headFrom('b', 11)], false],
    ['a push in the second of the comment', 'b', [headFrom('b', 10)], false],
    ['a label on it before the comment', 'b', [headFrom('b', 9, 'mention')], true],
    ['a look at it before the comment', 'b', [headFrom('b', 9, 'look')], true],
    ['a label on it after the comment', 'b', [headFrom('b', 11, 'mention')], false],
    ['only an event about another head', 'b', [headFrom('a', 1)], false],
    ['another head replaced it later', 'b', [headFrom('b', 1), headFrom('c', 5)], false],
    [
      'the head came back before the comment',
      'b',
      [headFrom('b', 1), headFrom('c', 5), headFrom('b', 6)],
      true,
    ],
    [
      'the head came back after the comment',
      'b',
      [headFrom('b', 1), headFrom('c', 5), headFrom('b', 11)],
      false,
    ],
    [
      'the head came back, and no event shows what replaced it',
      'b',
      [headFrom('b', 1), headFrom('b', 11)],
      false,
    ],
    ['another head in the same second', 'b', [headFrom('b', 5), headFrom('c', 5)], false],
    [
      'another head in the same second, and the head came back after the comment',
      'b',
      [headFrom('b', 5), headFrom('c', 5), headFrom('b', 11)],
      false,
    ],
    [
      'another head in the same second, and a label on this one before the comment',
      'b',
      [headFrom('b', 5), headFrom('c', 5), headFrom('b', 6, 'mention')],
      true,
    ],
    ['no event', 'b', [], false],
  ])('%s', (_what, headSha, events, expected) => {
    expect(applies(named(headSha), ...events)).toBe(expected)
  })
})

describe('whether GitHub’s answer shows that the head is older than the comment', () => {
  it('a last push before the comment proves it', () => {
    expect(applies(named('b', { pushedAt: at(9) }))).toBe(true)
    expect(applies(named('b', { pushedAt: at(9) }), headFrom('a', 1))).toBe(true)
    expect(applies(named('b', { pushedAt: at(10) }))).toBe(false)
    expect(applies(named('b', { pushedAt: null }))).toBe(false)
  })

  it('a push before the comment is no proof if a later event made it the head', () => {
    expect(applies(named('b', { pushedAt: at(9) }), headFrom('a', 1), headFrom('b', 11))).toBe(
      false,
    )
  })

  it('a last push before the comment also proves it if two heads share a second', () => {
    const both = [headFrom('b', 5), headFrom('c', 5)]
    expect(applies(named('b', { pushedAt: at(9) }), ...both)).toBe(true)
    expect(applies(named('b', { pushedAt: null }), ...both)).toBe(false)
  })

  it('a head marked ready after the comment counts if pushed before the comment', () => {
    const events = [headFrom('b', 5), headFrom('b', 11)]
    expect(applies(named('b', { pushedAt: at(9) }), ...events)).toBe(true)
    expect(applies(named('b', { pushedAt: null }), ...events)).toBe(false)
  })

  it('an answer that was updated before the comment proves it', () => {
    expect(applies(named('b', { updatedAt: at(9) }))).toBe(true)
    expect(applies(named('b', { updatedAt: at(10) }))).toBe(false)
  })
})

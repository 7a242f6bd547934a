import { allRights, channelsByName, defaultRights } from '../../channels/github-channels.ts'
import { describe, expect, it } from 'vitest'
import {
  contextKey,
  isReserved,
  publishRefusal,
  type Publication,
  type PublishRights,
} from './publish-rights.ts'

const run = { type: 'review', statusContext: 'acme/review', checkName: 'acme/review' }
const refused = (publication: Publication, rights: Partial<PublishRights> = {}) =>
  publishRefusal(publication, run, { ...defaultRights, ...rights })?.code ?? null
const status = (context: string): Publication => ({
  channel: channelsByName.of('github-status'),
  content: { context },
})
const check = (name: string): Publication => ({
  channel: channelsByName.of('github-check'),
  content: { name },
})
const label = (name: string): Publication => ({
  channel: channelsByName.of('github-label'),
  content: { label: name },
})
const review = (event: string): Publication => ({
  channel: channelsByName.of('github-review'),
  content: { event },
})

describe('a context', () => {
  it.each([
    'ACME/Review',
    ' acme / review ',
    'acme/re\u200bview',
    'acme/re\u00adview',
    'acme/review\ufe0f',
    'ac\u2060me/review\u{e0061}',
    'ａｃｍｅ/review',
    'acme/rev\u{1d422}ew',
  ])('%j looks like acme/review', (text) => {
    expect(contextKey(text)).toBe('acme/review')
    expect(isReserved(text, ['acme/review'])).toBe(true)
  })

  it.each([
    'acme\u2215review',
    'acme\u2044review',
    '\u0430cme/review',
    'acme/rev\u0456ew',
    'ACME/R\u0415VIEW',
    'acme/revie\u051d',
    '\u03b1cme/re\u03bdiew',
    'a\u03f2me/review',
    'acme/rev1ew',
    'acme/revlew',
    'acme\u29f8re\u200bview',
    'acme/rev\u026aew',
    'acme/revi\u1d07w',
    '\u1d00cme/\u0280eview',
  ])('%j looks like acme/review when each letter is compared', (text) => {
    expect(isReserved(text, ['acme/review'])).toBe(true)
    expect(refused(status(text), allRights)).toBe('context_reserved')
  })

  it('in another script is compared without regard to case', () => {
    expect(isReserved('ПРОВЕРКА', ['проверка'])).toBe(true)
    expect(isReserved('проверки', ['проверка'])).toBe(false)
  })

  it.each(['acme/reviews', 'acme/revie', 'acme-review'])('%j is not acme/review', (text) => {
    expect(isReserved(text, ['acme/review'])).toBe(false)
  })

  it('under holdfast/ is reserved, whether or not the configuration names it', () => {
    expect(isReserved('Holdfast/anything', [])).toBe(true)
    expect(isReserved('hold\u200dfast/anything', [])).toBe(true)
    const ascii = ['hoIdfast/x', 'h0ldfast/x']
    const others = ['holdfast\u2215x', 'h\u043eldfast/x', 'h\u1d0fldfast/x', 'h\u0966ldfast/x']
    const smallCapitals = ['\u029coldfast/x', 'ho\u029fdfast/x', 'hol\u1d05fast/x']
    for (const alike of [...ascii, ...others, ...smallCapitals]) {
      expect(isReserved(alike, [])).toBe(true)
    }
    expect(isReserved('holdfastness', [])).toBe(false)
  })
})

describe('the outputs that a run may publish', () => {
  it('are, by default, a comment and a review that only comments', () => {
    expect(
      refused({ channel: channelsByName.of('github-comment'), content: { body: 'x' } }),
    ).toBeNull()
    expect(refused(review('COMMENT'))).toBeNull()
    const others = [status('ci/x'), check('ci/x'), label('x'), review('APPROVE')]
    for (const other of [...others, review('REQUEST_CHANGES')]) {
      expect(refused(other)).toBe('publish_not_allowed')
    }
  })

  it('are those that its type allows, without regard to case', () => {
    const rights = { ...allRights, contexts: ['ci/Lint', 'Deploy/*'], labels: ['size/*', 'Ready'] }
    for (const fine of [status('CI/lint'), check('deploy/web'), label('Size/XL'), label('ready')]) {
      expect(refused(fine, rights)).toBeNull()
    }
    for (const other of [status('ci/lint2'), check('deploy'), label('size'), label('re ady')]) {
      expect(refused(other, rights)).toBe('publish_not_allowed')
    }
    expect(refused(review('APPROVE'), rights)).toBeNull()
    expect(refused(review('REQUEST_CHANGES'), { ...rights, approve: false })).not.toBeNull()
  })

  it('never include the result of its own or another type, whatever the type allows', () => {
    const rights = { ...allRights, reserved: ['acme/security'] }
    for (const name of ['acme/review', 'Acme/Security', 'acme/secu\u200brity', 'holdfast/x']) {
      expect(refused(status(name), rights)).toBe('context_reserved')
      expect(refused(check(name), rights)).toBe('context_reserved')
    }
  })

  it('are named in a refusal together with the setting that would allow it', () => {
    const refusal = publishRefusal(label('size/xl'), run, defaultRights)
    expect(refusal?.hint).toContain('runs: { "review": { publish: { labels: ["size/xl"] } } }')
    const other = publishRefusal(label('size/xl'), run, { ...allRights, channels: [] })
    expect(other?.hint).toContain(`publish: { channels: ['github-label'] }`)
  })
})

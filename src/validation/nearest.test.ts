import { describe, expect, test } from 'vitest'
import {
  didYouMean,
  didYouMeanOrAll,
  didYouMeanValue,
  editDistance,
  nearest,
  unknownField,
} from './nearest.ts'

describe('the distance between two names', () => {
  test.each([
    ['port', 'port', 0],
    ['PORT', 'port', 0],
    ['prot', 'port', 1],
    ['por', 'port', 1],
    ['portt', 'port', 1],
    ['pork', 'port', 2],
    ['', 'port', 4],
    ['port', '', 4],
    ['', '', 0],
  ])('%j to %j is %i', (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance)
  })
})

describe('the nearest name', () => {
  const names = ['HOLDFAST_HOST', 'HOLDFAST_PORT', 'HOLDFAST_PUBLIC_URL', 'HOLDFAST_DATABASE_URL']

  test.each([
    ['HOLDFAST_PROT', 'HOLDFAST_PORT'],
    ['HOLDFAST_DB_URL', 'HOLDFAST_DATABASE_URL'],
    ['holdfast_host', 'HOLDFAST_HOST'],
    ['HOLDFAST_PUBLICURL', 'HOLDFAST_PUBLIC_URL'],
  ])('to %s is %s', (wrong, right) => {
    expect(nearest(wrong, names)).toBe(right)
  })

  test.each(['x'.repeat(300), 'HOLDFAST_REDIS_URL', 'HOLDFAST_TEST', 'HOLDFAST_', 'scm'])(
    'to %s is none',
    (wrong) => {
      expect(nearest(wrong, names)).toBeNull()
    },
  )

  test.each([
    ['webhookSecret', ['host', 'port']],
    ['scm', ['host', 'runs']],
    ['queue', ['runs', 'host']],
    ['phases', ['when', 'by']],
    ['notifications', ['retention']],
    ['xy', ['by', 'on']],
    ['foo', ['for', 'run']],
  ])('to %s is none of %j', (wrong, right) => {
    expect(nearest(wrong, right)).toBeNull()
  })

  test.each([
    ['delivery', 'deliveries'],
    ['migration', 'migrate'],
    ['simulation', 'simulate'],
    ['--deliver', '--deliveries'],
  ])('to %s is %s, which begins like it and ends differently', (wrong, right) => {
    expect(nearest(wrong, ['serve', 'runs', 'why', '--dry-run', right])).toBe(right)
  })

  test('is not found only because all names begin alike', () => {
    expect(nearest('HOLDFAST_LOGS', ['HOLDFAST_DATABASE_URL', 'HOLDFAST_LOCALE'])).toBeNull()
  })

  test('is the one with fewer wrong letters, even if another begins alike', () => {
    expect(nearest('deliver', ['deliveries', 'delivery'])).toBe('delivery')
  })

  test('is none if there are no names', () => {
    expect(nearest('port', [])).toBeNull()
  })

  test('does not depend on how words are joined', () => {
    expect(nearest('headSha', ['head_sha', 'sha'])).toBe('head_sha')
    expect(nearest('github_status', ['github-status'])).toBe('github-status')
  })
})

describe('the words for it', () => {
  test.each([
    ['sucess', 'Did you mean "succeeded"?'],
    ['success', 'Did you mean "succeeded"?'],
    ['failure', 'Did you mean "failed"?'],
    ['skip', 'Did you mean "skipped"?'],
    ['su', ''],
    ['done', ''],
    [`suc${'x'.repeat(100)}`, ''],
  ])('name the only value of a field that begins like %s: %s', (wrong, question) => {
    expect(didYouMeanValue(wrong, ['succeeded', 'failed', 'skipped'])).toBe(question)
  })

  test('name no value if several begin alike', () => {
    expect(didYouMeanValue('repository', ['report', 'repeat'])).toBe('')
  })

  test('are a question, or all names, or nothing', () => {
    expect(didYouMean('prot', ['host', 'port'])).toBe('Did you mean "port"?')
    expect(didYouMean('zzz', ['host', 'port'])).toBe('')
    expect(didYouMeanOrAll('zzz', ['host', 'port'], 'Known keys')).toBe('Known keys: host, port')
    expect(unknownField('colour', ['body'])).toBe('is not a known field')
    expect(unknownField('bdoy', ['body'])).toBe('is not a known field. Did you mean "body"?')
  })
})

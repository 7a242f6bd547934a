/**
 * Goal: no text makes Holdfast slow. The time to handle a text grows in proportion to its length.
 * Method: each hostile text is handled at growing lengths, up to the longest that is accepted, and
 * each time is compared with that of a quarter of the length. The tests compare processor time, and
 * the best of a few tries, so a busy machine changes nothing. Four times the text may take ten
 * times as long; with quadratic growth it takes sixteen times as long. The first length that takes
 * too long ends the test, before greater ones would take minutes.
 */
import { describe, expect, test } from 'vitest'
import { maskSecrets } from '../../cli/serve/mask-secrets.ts'
import { hideSecrets } from '../../texts/hide-secrets.ts'
import { cutBody } from './cut-body.ts'
import { judgeMarker } from '../marker.ts'
import { plainLine } from '../parts.ts'
import { safeLine, safeText } from './safe-text.ts'

const lengthMax = 200_000
const growthMax = 10
/** Below this a measurement says nothing: what is not cut, or is cut, takes no time or some. */
const cpuMsMin = 6

const lengths: readonly number[] = [
  // So short, and so close, that even a time which doubles with each character is found soon.
  ...[12, 16, 20, 24, 28, 32, 36, 40],
  ...[1024, 256, 64, 16, 4, 1].map((times) => Math.ceil(lengthMax / times)),
]

const repeated = (piece: string) => (length: number) =>
  piece.repeat(Math.ceil(length / piece.length))
const between = (before: string, piece: string, after: string) => (length: number) =>
  before + repeated(piece)(length) + after
const halves = (first: string, second: string) => (length: number) =>
  repeated(first)(length / 2) + repeated(second)(length / 2)

const texts: readonly (readonly [name: string, make: (length: number) => string])[] = [
  ['blanks, then a word', between('', ' ', 'x')],
  ['blanks in a fold', between('<details>', ' ', 'x')],
  ['blanks before a title', between('<details>', ' ', '<summary>')],
  ['a title without end', between('<summary>', 'a', '')],
  ['many titles', repeated('<summary>a')],
  ['tabs', between('', '\t', 'x')],
  ['empty lines', between('', ' \n', 'x')],
  ['folds', repeated('<details>\n')],
  ['closed folds', repeated('<details>\n</details>\n')],
  ['breaks behind quotation marks', halves('>', '<br>')],
  ['breaks', repeated('<br>')],
  ['tags', repeated('<a')],
  ['comments', repeated('<!--')],
  ['mentions', repeated('@a ')],
  ['at signs', repeated('@')],
  ['references', repeated('#1')],
  ['entities', repeated('&#64;')],
  ['a long entity', between('&#', '0', '64')],
  ['images', repeated('![a](http://b ')],
  ['image marks', repeated('!')],
  ['brackets', repeated('![')],
  ['backticks', repeated('`')],
  ['pairs of backticks', repeated('`a` ')],
  ['fences', repeated('```\n')],
  ['marks of lists', between('', '- ', '```')],
  ['numbered lists', between('', '1. ', '```')],
  ['quotations', repeated('> ')],
  ['escapes', repeated('\\')],
  ['escaped signs', repeated('\\_')],
  ['escaped tokens', repeated('ghp\\_')],
  ['an escaped token without end', between('ghp\\_', 'a\\_', '')],
  ['emphasised tokens', repeated('gh*p_*')],
  ['a split token without end', between('ghp_', '*a', '')],
  ['named entities', repeated('&lowbar;')],
  ['entities without end', repeated('&a')],
  ['a long name of an entity', between('&', 'a', ';')],
  ['wide characters', repeated('\uff3f')],
  ['images with escapes', repeated('![a](https://b\\.c')],
  ['an image without end', between('![a](https://', '\\.', '')],
  ['destinations', repeated('](/')],
  ['blanks before a destination', between('](', ' ', '/a')],
  ['definitions', repeated(']: /')],
  ['schemes', repeated('https:')],
  ['an address of escapes', between('https://', '\\.', '')],
  ['an address of entities', between('https://github.com/', '&sol;', '')],
  ['a name of many labels', between('https://a', '.a', '#1')],
  ['addresses of issues', repeated('https://github\\.com/o/r/issues/1 ')],
  ['wide blanks', between('', '\u3000', '/a')],
  ['slashes', repeated('/a\n')],
  ['addresses', repeated('http://a.b/@c#1 ')],
  ['an address without end', between('http://', 'a', '')],
  ['emoji of many parts', repeated('👨‍👩‍👧')],
  ['marks over one letter', between('a', '\u0301', '')],
  ['joiners', between('a', '\u200d', 'b')],
  ['split words', repeated('a\u200d')],
  ['flags', repeated('🇩🇪')],
  ['tokens', repeated('ghs_')],
  ['keys', repeated('sk-')],
  ['coded characters', repeated('%3Dgh')],
  ['colours', repeated('[1;2')],
  ['a long key', between('sk-', 'a', '')],
  ['signed tokens', repeated('eyJaaaaaaaa.')],
  ['a signed token without end', between('eyJ', 'a', '')],
  ['mail keys', repeated('SG.aaaaaaaaaaaaaaaa')],
  ['bot tokens', repeated('1234567:')],
  ['passwords', repeated('://a:')],
  ['a password without end', between('://a:', 'b', '')],
  ['query keys', repeated('?a')],
  ['a long query key', between('?', 'a', '')],
  ['bearers', repeated('Bearer ')],
  ['a bearer of blanks', between('Bearer', ' ', '!')],
  ['a bearer of words', between('Bearer ', 'a-', 'A')],
  ['private keys', repeated('-----BEGIN PRIVATE KEY-----')],
  ['a private key without name', between('-----BEGIN ', 'A ', '')],
  ['ends of private keys', between('-----BEGIN PRIVATE KEY-----', '-----END ', '')],
  ['markers', repeated('<!-- holdfast:1 a ')],
]

const marked = { repoGithubId: 1, ownRepositoryIds: [], thread: 1, markerKey: 'k' }
const key = { id: 'k', secret: 's' }

const handlers: readonly (readonly [name: string, handle: (text: string) => unknown])[] = [
  ['text for a comment', (text) => cutBody(safeText(text), 65_000)],
  ['cutting', (text) => cutBody(text, 65_000)],
  ['a line', (text) => safeLine(text)],
  ['a description', (text) => plainLine(text, 140)],
  ['hiding secrets', (text) => hideSecrets(text)],
  ['masking a log line', (text) => maskSecrets(JSON.stringify({ text }))],
  ['reading a marker', (text) => judgeMarker(text, marked, { current: key, all: [] })],
]

describe.each(handlers)('%s takes time in proportion to the length', (_handler, handle) => {
  test.each(texts)('for %s', (_name, make) => {
    const cpuMs = (length: number, tries: number): number => {
      const text = make(length)
      return cpuMsOf(() => handle(text), tries)
    }
    expect(overgrowth(cpuMs)).toBeNull()
  })
})

describe('time that grows', () => {
  const measured: number[] = []
  const check = (msOf: (length: number) => number): string | null => {
    measured.length = 0
    return overgrowth((length) => {
      measured.push(length)
      return msOf(length)
    })
  }

  test.each([
    ['with the length', (length: number) => length / 100],
    ['a little faster', (length: number) => (length * Math.log2(length)) / 1000],
    ['not at all, after a slow start', () => 500],
  ])('%s passes, also at the greatest length', (_how, msOf) => {
    expect(check(msOf)).toBeNull()
    expect(Math.max(...measured)).toBe(lengthMax)
  })

  test.each([
    ['with the square', (length: number) => length ** 2 / 1e6],
    ['with the third power', (length: number) => length ** 3 / 1e9],
    ['twofold with each character', (length: number) => 2 ** length / 1e6],
  ])('%s is reported, and no greater length is tried', (_how, msOf) => {
    expect(check(msOf)).toMatch(/^\d+ characters took \d+ ms, and a quarter of them \d+ ms: /)
    expect(Math.max(...measured.map(msOf))).toBeLessThan(2000)
  })
})

/** Returns the first length that takes too long, with a quarter of it; null when none does. */
function overgrowth(cpuMs: (length: number, tries: number) => number): string | null {
  for (const length of lengths) {
    // Most texts need almost no time, and then there is nothing to compare.
    const once = cpuMs(length, 1)
    if (once < growthMax * cpuMsMin) continue
    const quarter = Math.max(cpuMs(length / 4, 3), cpuMsMin)
    const whole = once < growthMax * quarter ? once : cpuMs(length, 3)
    if (whole < growthMax * quarter) continue
    const [took, of] = [whole, quarter].map((ms) => ms.toFixed(0))
    return (
      `${length} characters took ${took} ms, and a quarter of them ${of} ms: four times the text ` +
      `may take ${growthMax} times as long`
    )
  }
  return null
}

function cpuMsOf(work: () => unknown, times: number): number {
  const tries = Array.from({ length: times }, () => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...tries)
}

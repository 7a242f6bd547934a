/**
 * Goal: no text makes us slow. The time that handling a text takes grows with its length.
 * Method: each hostile text is handled at one length and at four times that length, up to the most
 * that is taken. Processor time is compared, not time on the wall, and the best of a few tries, so
 * that a busy machine changes nothing. Four times the text may take ten times as long; where time
 * grows with the square it takes sixteen times as long.
 */
import { describe, expect, test } from 'vitest'
import { maskSecrets } from '../cli/mask-secrets.ts'
import { hideSecrets } from '../hide-secrets.ts'
import { cutBody } from './cut-body.ts'
import { judgeMarker } from './marker.ts'
import { plainLine } from './parts.ts'
import { safeLine, safeText } from './safe-text.ts'

const lengthMax = 200_000
const growthMax = 10
/** Below this a measurement says nothing. */
const cpuMsMin = 3

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

describe.each(handlers)('%s takes time in proportion', (_handler, handle) => {
  test.each(texts)('for %s', (_name, make) => {
    const long = make(lengthMax)
    // Most are done in no time, and then there is nothing to compare.
    if (cpuMsOf(() => handle(long), 1) < growthMax * cpuMsMin) return
    const short = cpuMsOf(() => handle(make(lengthMax / 4)), 3)
    const bound = growthMax * Math.max(short, cpuMsMin)
    expect(cpuMsOf(() => handle(long), 3)).toBeLessThan(bound)
  })
})

function cpuMsOf(work: () => unknown, times: number): number {
  const tries = Array.from({ length: times }, () => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...tries)
}

import { expect, test } from 'vitest'
import { markdownUrl, publishedUrl } from './published-url.ts'

test.each([
  ['https://ci.example/runs/1?a=b#c', 'https://ci.example/runs/1?a=b#c'],
  ['https://ci.example/\u202egnp.exe', null],
  ['https://ci.example/ü', 'https://ci.example/%C3%BC'],
  ['https://ci.example/a?token=s3cr3t', null],
  [`https://ci.example/ghs_${'a'.repeat(36)}`, null],
  ['https://me:pass@ci.example/', null],
  ['https://me@ci.example/', null],
  ['javascript:alert(1)', null],
  ['not an address', null],
  [`https://ci.example/${'a'.repeat(2000)}`, null],
  [null, null],
])('%j is published as %j', (given, published) => {
  expect(publishedUrl(given)).toBe(published)
})

test('in Markdown an address cannot end its link or mention a person', () => {
  expect(markdownUrl('https://a.example/b)(c<d>@e')).toBe('https://a.example/b%29%28c%3Cd%3E%40e')
})

test.each([
  'https://github.com/o/r/issues/1',
  'https://github.com:443/o/r/issues/1',
  'https://www.github.com/o/r/%69ssues/1',
])('in Markdown %s leaves no note on the issue', (url) => {
  expect(markdownUrl(url)).toMatch(/^https:\/\/redirect\.github\.com\/o\/r\/(?:i|%69)ssues\/1$/)
})
